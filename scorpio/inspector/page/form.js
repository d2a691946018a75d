// A form for a JSON Schema, and the value that a person has given with it.
//
// Covers strings (with enum, format, length), numbers, booleans, objects, lists, choices (enum, const, oneOf, anyOf with
// titles), references within the schema and null. What it cannot lay out is asked for as JSON.

import { h, fill, uniqueId } from "./dom.js";

const FORMATS = { date: "date", email: "email", uri: "url", time: "time" };
const DEPTH_MAX = 8; // of fields inside each other; below, JSON

/** `{element, value()}`: `value` returns undefined for what was left empty, and throws a sentence for what is wrong. */
export function formFor(schema, initial, root = schema) {
  return field(schema ?? {}, initial, { root, depth: 0, label: "", required: true });
}

function field(given, initial, at) {
  const schema = resolved(given, at.root);
  const start = initial !== undefined ? initial : schema.default;
  if (at.depth > DEPTH_MAX) return jsonField(schema, start, at);
  const options = choices(schema);
  if (options) return choiceField(schema, options, start, at);
  if (schema.oneOf || schema.anyOf) return variantField(schema, start, at);
  const type = Array.isArray(schema.type) ? schema.type.find((each) => each !== "null") : schema.type;
  if (type === "object" && schema.properties && !schema.allOf && !schema.if) return objectField(schema, start, at);
  if (type === "object" && at.depth === 0 && takesNothing(schema)) return { element: h("div"), value: () => ({}) };
  if (type === "array" && !Array.isArray(schema.items) && !schema.prefixItems) return listField(schema, start, at);
  if (type === "boolean") return booleanField(schema, start, at);
  if (type === "integer" || type === "number") return numberField(schema, start, at, type);
  if (type === "string") return textField(schema, start, at);
  return jsonField(schema, start, at);
}

/** Of a tool's arguments: an object that names no member, as tools without arguments have it. */
function takesNothing(schema) {
  const open = ["properties", "patternProperties", "allOf", "if", "required", "minProperties"];
  return !schema.additionalProperties && open.every((each) => schema[each] === undefined);
}

/** The schema with its `$ref` followed; a reference that leads out of the document or round in a circle is no schema. */
function resolved(schema, root) {
  let found = schema === true ? {} : schema;
  for (let hops = 0; found?.$ref !== undefined; hops += 1) {
    if (hops > DEPTH_MAX || !String(found.$ref).startsWith("#")) return {};
    const path = found.$ref.slice(1).split("/").slice(1);
    const target = path.reduce((node, key) => node?.[key.replaceAll("~1", "/").replaceAll("~0", "~")], root);
    const { $ref, ...beside } = found;
    found = { ...target, ...beside };
  }
  return found || {};
}

/** [{value, title}] where the schema lists the values; else null. */
function choices(schema) {
  if (schema.enum) return schema.enum.map((value, index) => ({ value, title: schema.enumNames?.[index] ?? String(value) }));
  if (schema.const !== undefined) return [{ value: schema.const, title: String(schema.const) }];
  const variants = schema.oneOf ?? schema.anyOf;
  if (variants?.length > 0 && variants.every((each) => each?.const !== undefined)) {
    return variants.map(({ const: value, title }) => ({ value, title: title ?? String(value) }));
  }
  return null;
}

// -- a field: label, description, control

function framed(schema, at, control, { group = false } = {}) {
  const title = at.label || schema.title || "";
  const id = uniqueId("field");
  control.id = id;
  const described = schema.description ? h("span", { class: "hint", id: `${id}-hint` }, schema.description) : null;
  if (described) control.setAttribute("aria-describedby", `${id}-hint`);
  if (at.path) control.dataset.path = at.path;
  const mark = at.required && title ? h("abbr", { title: "required", class: "required" }, "*") : null;
  if (group) {
    if (!title) return h("div", { class: "field" }, described, control);
    return h("fieldset", { class: "field" }, h("legend", {}, title, mark), described, control);
  }
  return h("div", { class: "field" }, title ? h("label", { htmlFor: id }, title, mark) : null, control, described);
}

function needed(at, value) {
  if (value === undefined && at.required && at.path) throw new Error(`${at.path} is needed.`);
  return value;
}

function textField(schema, start, at) {
  const long = schema.format === undefined && (schema.maxLength === undefined || schema.maxLength > 120) && !schema.pattern;
  const control = long
    ? h("textarea", { rows: 1, spellcheck: false })
    : h("input", { type: FORMATS[schema.format] ?? "text", spellcheck: false });
  if (schema.format === "date-time") control.placeholder = "2026-11-22T12:00:00Z";
  if (schema.maxLength !== undefined) control.maxLength = schema.maxLength;
  if (schema.minLength !== undefined) control.minLength = schema.minLength;
  if (schema.pattern && !long) control.pattern = schema.pattern;
  if (start !== undefined && start !== null) control.value = String(start);
  return {
    element: framed(schema, at, control),
    value: () => {
      if (control.value === "" && !(at.required && schema.minLength > 0)) return at.required ? "" : undefined;
      if (control.value === "") throw new Error(`${at.path || "The text"} is needed.`);
      if (!control.checkValidity()) throw new Error(`${at.path || "The text"}: ${control.validationMessage}`);
      return control.value;
    },
  };
}

function numberField(schema, start, at, type) {
  const control = h("input", { type: "number", step: type === "integer" ? 1 : "any", inputMode: "decimal" });
  if (schema.minimum !== undefined) control.min = schema.minimum;
  if (schema.maximum !== undefined) control.max = schema.maximum;
  if (typeof start === "number") control.value = String(start);
  return {
    element: framed(schema, at, control),
    value: () => {
      if (control.validity.badInput || (control.value !== "" && !control.checkValidity())) {
        throw new Error(`${at.path || "The number"}: ${control.validationMessage}`);
      }
      return needed(at, control.value === "" ? undefined : Number(control.value));
    },
  };
}

function booleanField(schema, start, at) {
  if (at.required || start !== undefined) {
    const control = h("input", { type: "checkbox", checked: start === true });
    return { element: framed(schema, at, control), value: () => control.checked };
  }
  const three = [{ value: true, title: "true" }, { value: false, title: "false" }];
  return choiceField(schema, three, start, at);
}

function choiceField(schema, options, start, at) {
  const control = h("select", {});
  if (!at.required || start === undefined) control.append(h("option", { value: "" }, at.required ? "choose…" : "(leave out)"));
  options.forEach(({ value, title }, index) => {
    control.append(h("option", { value: String(index), selected: start !== undefined && same(start, value) }, title));
  });
  return {
    element: framed(schema, at, control),
    value: () => needed(at, control.value === "" ? undefined : options[Number(control.value)].value),
  };
}

/** One of several schemas: a choice, and below it the form of what was chosen. */
function variantField(schema, start, at) {
  const variants = (schema.oneOf ?? schema.anyOf).map((each) => resolved(each, at.root));
  const rest = { ...schema };
  delete rest.oneOf;
  delete rest.anyOf;
  const control = h("select", {});
  variants.forEach((variant, index) => {
    control.append(h("option", { value: String(index) }, variant.title ?? variant.type ?? `variant ${index + 1}`));
  });
  const place = h("div", { class: "variant" });
  let chosen;
  const choose = () => {
    const { title, ...variant } = variants[Number(control.value)];
    chosen = variant.type === "null"
      ? { element: h("span", {}, "null"), value: () => null }
      : field(mergedVariant(rest, variant), start, { ...at, depth: at.depth + 1, label: "" });
    fill(place, chosen.element);
  };
  control.addEventListener("change", choose);
  choose();
  const frame = framed(schema, at, control);
  frame.append(place);
  return { element: frame, value: () => chosen.value() };
}

function mergedVariant(rest, variant) {
  const merged = { ...rest, ...variant };
  if (rest.properties && variant.properties) merged.properties = { ...rest.properties, ...variant.properties };
  if (rest.required || variant.required) merged.required = [...(rest.required ?? []), ...(variant.required ?? [])];
  delete merged.title;
  delete merged.description;
  return merged;
}

function objectField(schema, start, at) {
  const fields = Object.entries(schema.properties).map(([name, property]) => [
    name,
    field(property, start?.[name], {
      ...at,
      depth: at.depth + 1,
      label: resolved(property, at.root).title ? `${resolved(property, at.root).title} (${name})` : name,
      path: at.path ? `${at.path}.${name}` : name,
      required: (schema.required ?? []).includes(name),
    }),
  ]);
  const open = schema.additionalProperties === undefined || schema.additionalProperties === false
    ? null
    : jsonField({ title: "more members, as JSON" }, undefined, { ...at, label: "more members, as JSON", required: false });
  const inner = h("div", { class: "members" }, fields.map(([, each]) => each.element), open?.element);
  return {
    element: at.depth === 0 ? inner : framed(schema, at, inner, { group: true }),
    value: () => {
      const value = {};
      for (const [name, each] of fields) {
        const part = each.value();
        if (part !== undefined) Object.defineProperty(value, name, { value: part, enumerable: true, configurable: true, writable: true });
      }
      Object.assign(value, open?.value() ?? {});
      return Object.keys(value).length === 0 && !at.required ? undefined : value;
    },
  };
}

function listField(schema, start, at) {
  const options = choices(resolved(schema.items ?? {}, at.root));
  if (options && options.length <= 40) return manyField(schema, options, start, at);
  const list = h("ol", { class: "items" });
  const items = [];
  const add = (value) => {
    const each = field(schema.items ?? {}, value, {
      ...at,
      depth: at.depth + 1,
      label: `item ${items.length + 1}`,
      path: `${at.path || "list"}[${items.length}]`,
      required: true,
    });
    const remove = h("button", { type: "button", onclick: () => {
      items.splice(items.indexOf(each), 1);
      row.remove();
      more.focus();
    } }, "Remove");
    const row = h("li", {}, each.element, remove);
    items.push(each);
    list.append(row);
    return row;
  };
  const more = h("button", { type: "button", onclick: () => add().querySelector("input, textarea, select")?.focus() }, "Add an item");
  for (const value of Array.isArray(start) ? start : []) add(value);
  const frame = h("div", {}, list, more);
  return {
    element: framed(schema, at, frame, { group: true }),
    value: () => (items.length === 0 && !at.required ? undefined : items.map((each) => each.value())),
  };
}

/** A list of listed values: a box for each. */
function manyField(schema, options, start, at) {
  const boxes = options.map(({ value, title }) => {
    const box = h("input", { type: "checkbox", checked: Array.isArray(start) && start.some((each) => same(each, value)) });
    return { box, value, element: h("label", { class: "inline" }, box, ` ${title}`) };
  });
  return {
    element: framed(schema, at, h("div", {}, boxes.map(({ element }) => element)), { group: true }),
    value: () => {
      const chosen = boxes.filter(({ box }) => box.checked).map(({ value }) => value);
      return chosen.length === 0 && !at.required ? undefined : chosen;
    },
  };
}

function jsonField(schema, start, at) {
  const control = h("textarea", { rows: 3, spellcheck: false, placeholder: "JSON", class: "code" });
  if (start !== undefined) control.value = JSON.stringify(start, null, 2);
  return {
    element: framed(schema, at, control),
    value: () => {
      if (control.value.trim() === "") return needed(at, undefined);
      try {
        return JSON.parse(control.value);
      } catch (error) {
        throw new Error(`${at.path || "The value"} is not JSON: ${error.message}`);
      }
    },
  };
}

function same(one, other) {
  return JSON.stringify(one) === JSON.stringify(other);
}
