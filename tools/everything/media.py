"""A picture of 20 by 20 points, as small as one can be seen."""

from __future__ import annotations

TINY_PNG = (
    "iVBORw0KGgoAAAANSUhEUgAAABQAAAAUAgMAAADw5/WeAAAACVBMVEX////6+vooWqCB2yxzAAAAXElEQVR42k3NsQ2CQACG0Xd/zuRKZrhJGMGG"
    "XSwZyREcg8owAiWJBC2Mic1XvOYrE8S3ZRpFNYiry88LxlRPQ7jNQiNOq9j7rjIvcqzOLe+uP6Jp4u4lDpvy9/oAYIYSwcmQGz8AAAAASUVORK5CYII="
)
