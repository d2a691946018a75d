// Content blocks and resource contents as elements: text as text, images and sound as such, everything else as JSON.

import { h, json } from "./dom.js";

const IMAGE = /^image\/(png|jpeg|gif|webp|avif|svg\+xml|bmp)$/;
const AUDIO = /^audio\/[\w.+-]+$/;

/** An element for one content block of a tool's or a prompt's result. `read(uri)` opens a resource. */
export function block(content, read) {
  const about = notes(content.annotations);
  switch (content.type) {
    case "text":
      return h("div", { class: "block" }, h("pre", { class: "text", tabIndex: 0 }, content.text), about);
    case "image":
      return h("div", { class: "block" }, image(content.data, content.mimeType), about);
    case "audio":
      return h("div", { class: "block" }, sound(content.data, content.mimeType), about);
    case "resource_link":
      return h(
        "div",
        { class: "block" },
        h("button", { type: "button", class: "link", onclick: () => read(content.uri) }, content.title ?? content.name ?? content.uri),
        h("code", {}, ` ${content.uri}`),
        content.description ? h("p", { class: "hint" }, content.description) : null,
        about,
      );
    case "resource":
      return h("div", { class: "block" }, resource(content.resource), about);
    default:
      return h("div", { class: "block" }, json(content));
  }
}

/** An element for one item of a resources/read result. */
export function resource(item) {
  const head = h("p", { class: "hint" }, h("code", {}, item.uri), item.mimeType ? ` ${item.mimeType}` : "");
  if (item.text !== undefined) return h("div", {}, head, h("pre", { class: "text", tabIndex: 0 }, item.text));
  const type = item.mimeType ?? "application/octet-stream";
  if (IMAGE.test(type)) return h("div", {}, head, image(item.blob, type));
  if (AUDIO.test(type)) return h("div", {}, head, sound(item.blob, type));
  const bytes = decoded(item.blob);
  const download = h("a", { href: URL.createObjectURL(new Blob([bytes], { type })), download: item.uri.split("/").pop() }, `Save ${bytes.length} bytes`);
  return h("div", {}, head, download);
}

function image(data, mimeType) {
  if (!IMAGE.test(mimeType)) return h("p", {}, `An image of type ${mimeType}, which a browser does not show.`);
  const bytes = decoded(data);
  const url = URL.createObjectURL(new Blob([bytes], { type: mimeType }));
  const caption = h("figcaption", { class: "hint" }, `${mimeType}, ${bytes.length} bytes`);
  const picture = h("img", {
    src: url,
    alt: `image of the result, ${mimeType}`,
    onload: () => caption.append(`, ${picture.naturalWidth}×${picture.naturalHeight}`),
    onerror: () => caption.append(", damaged"),
  });
  return h("figure", {}, picture, caption);
}

function sound(data, mimeType) {
  const bytes = decoded(data);
  return h("audio", { controls: true, src: URL.createObjectURL(new Blob([bytes], { type: mimeType })) });
}

function decoded(base64) {
  try {
    return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  } catch {
    return new Uint8Array();
  }
}

function notes(annotations) {
  if (!annotations) return null;
  return h("p", { class: "hint" }, Object.entries(annotations).map(([name, value]) => `${name}: ${value}`).join(" · "));
}
