"""Writes a drawing in few bytes, with letters as text: in the page, with the page's colours and its
own ids, or as a file."""

import re
from collections.abc import Mapping, Sequence
from xml.etree.ElementTree import Element, fromstring, tostring

TEXT = {"font-family": "'DejaVu Sans'", "font-size": "8.5px", "fill": "currentColor"}
LINES = {"stroke-linejoin": "round", "stroke-linecap": "butt"}
# DejaVu Sans, which lays out the drawing, has the widest letters: other fonts need no more room.
ROOT = TEXT | LINES | {"font-family": "'DejaVu Sans',Verdana,sans-serif"}
SVG = "http://www.w3.org/2000/svg"
LEFT_OUT = {"metadata", "style"}
MANY = 6  # marks of one kind; fewer take fewer bytes one by one
DRAWN = {"style", "clip-path"}


def embedded(svg: str, name: str, label: str, rem: float, colours: Mapping[str, str]) -> str:
    """The SVG as an element of an HTML page, at most `rem` wide, with `label` for those who do not
    see it. `colours` replace those of the drawing."""
    style = {"max-width": f"{rem:.1f}rem"} | ROOT
    root = Element("svg", {"role": "img", "aria-label": label, "style": css(style)})
    return drawing(root, svg, re.sub("[^A-Za-z0-9-]", "_", name), colours)


def standalone(svg: str, ink: str, paper: str, colours: Mapping[str, str]) -> str:
    """The SVG as a file, on a background of its own."""
    source = fromstring(svg)
    size = {key: source.attrib[key] for key in ("width", "height")}
    root = Element("svg", {"xmlns": SVG, **size, "style": css({"color": ink} | ROOT)})
    root.append(Element("rect", {"width": "100%", "height": "100%", "fill": paper}))
    return drawing(root, svg, "part", colours) + "\n"


def drawing(root: Element, svg: str, name: str, colours: Mapping[str, str]) -> str:
    """The root with the drawing in it."""
    source = fromstring(svg)
    used = re.findall(r'(?:href="|url\()#([\w-]+)', svg)
    ids = {old: f"{name}-{n}" for n, old in enumerate(dict.fromkeys(used))}
    root.set("viewBox", source.attrib["viewBox"])
    children = [one for child in source for one in simplified(child, ids, colours)]
    root.extend(as_markers(as_one_path(children)))
    for element in root.iter():
        element.tail = "\n"
    root.tail = ""
    return tostring(root, encoding="unicode").replace(" />", "/>")  # elsewhere it is escaped


def simplified(
    element: Element, ids: Mapping[str, str], colours: Mapping[str, str]
) -> list[Element]:
    """The element without invisible and unused parts: itself, only its children, or nothing."""
    tag = element.tag.rpartition("}")[2]
    if tag in LEFT_OUT:
        return []
    children = [one for child in element for one in simplified(child, ids, colours)]
    attributes = {}
    for key, value in element.attrib.items():
        key = key.rpartition("}")[2]
        if shown := attribute(key, value, ids, colours):
            attributes[key] = shown
    if tag == "g" and not attributes:
        return children
    if (tag in ("g", "defs") and not children) or attributes.get("style") == "fill:none":
        return []
    styles = {child.get("style", "") for child in children}
    if tag == "g" and len(styles) == 1 and {child.tag for child in children} == {"use"}:
        attributes["style"] = styles.pop()
        for child in children:
            child.attrib.pop("style", None)
    made = Element(tag, attributes)
    made.text = element.text if tag == "text" else None
    made.extend(children)
    return [made]


def as_one_path(children: Sequence[Element]) -> list[Element]:
    """Joins grid lines, which differ only in their place and have only text between them, into one
    path."""
    found: list[Element] = []
    last: Element | None = None
    for child in children:
        # A line without a point in view has no `d`.
        line = {"d", "style"} <= {*child.attrib} and "fill:none" in child.get("style", "")
        if line and last is not None and unplaced(child) == unplaced(last):
            last.set("d", last.attrib["d"] + child.attrib["d"])
            continue
        found.append(child)
        if child.tag != "text":
            last = child if line else None
    return found


def unplaced(element: Element) -> dict[str, str]:
    return {key: value for key, value in element.attrib.items() if key != "d"}


def as_markers(children: Sequence[Element]) -> list[Element]:
    """Replaces a mark that is drawn at many points by the marker of one path through them."""
    found: list[Element] = []
    names: dict[tuple[str, str], str] = {}  # by what is drawn, and how
    for child in children:
        uses = list(child)
        same = {(one.tag, one.get("href", "")) for one in uses}
        if len(uses) < MANY or len(same) > 1 or uses[0].tag != "use" or {*child.attrib} - DRAWN:
            found.append(child)
            continue
        key = (uses[0].get("href", ""), child.get("style", ""))
        if key not in names:
            names[key] = f"{key[0][1:]}-{len(names)}"
            found.append(marker(names[key], *key))
        points = "L".join(f"{one.get('x', 0)} {one.get('y', 0)}" for one in uses)
        ends = {f"marker-{end}": f"url(#{names[key]})" for end in ("start", "mid", "end")}
        clip = {name: value for name, value in child.attrib.items() if name != "style"}
        found.append(Element("path", {"d": path(f"M{points}"), "fill": "none", **clip, **ends}))
    return found


def marker(name: str, href: str, style: str) -> Element:
    made = Element("marker", {"id": name, "overflow": "visible", "markerUnits": "userSpaceOnUse"})
    mark = Element("g", {"style": style})
    mark.append(Element("use", {"href": href}))
    made.append(mark)
    return made


def attribute(key: str, value: str, ids: Mapping[str, str], colours: Mapping[str, str]) -> str:
    """The value in short; "" if the attribute changes nothing."""
    if key == "id":
        return ids.get(value, "")
    if key == "style":
        return stylish(value, ids, colours)
    if key == "d":
        return path(value)
    if key in ("x", "y"):
        return f"{float(value):.1f}".removesuffix(".0")
    if key == "transform" and value.startswith("rotate(-0 "):
        return ""
    return ours(value, ids, colours)


def stylish(value: str, ids: Mapping[str, str], colours: Mapping[str, str]) -> str:
    """A style without what the whole drawing has."""
    parts = (item.strip().split(": ", 1) for item in value.split(";") if item.strip())
    items = {key: ours(held, ids, colours) for key, held in parts}
    return css({key: held for key, held in items.items() if (TEXT | LINES).get(key) != held})


def ours(value: str, ids: Mapping[str, str], colours: Mapping[str, str]) -> str:
    """The value with the page's colours and the drawing's new ids."""
    return re.sub(
        r"#([\w-]+)", lambda found: colours.get(found[0], f"#{ids.get(found[1], found[1])}"), value
    )


def css(items: Mapping[str, str]) -> str:
    return ";".join(f"{key}:{value}" for key, value in items.items())


def path(value: str) -> str:
    """A path of straight lines, in relative steps to 0.1 points. A path with curves belongs to a
    small marker and only loses its blanks."""
    parts = re.findall(r"([A-Za-z])([^A-Za-z]*)", value)
    if {letter for letter, _ in parts} - set("MLz"):
        return "".join(letter + " ".join(numbers.split()) for letter, numbers in parts)
    x = y = 0
    text = ""
    for letter, numbers in parts:
        if letter == "z":
            text += "z"
            continue
        here = [round(10 * float(number)) for number in numbers.split()]
        text += "M" + pair(*here) if letter == "M" else "l" + pair(here[0] - x, here[1] - y)
        x, y = here
    return text


def pair(x: int, y: int) -> str:
    first, second = tenths(x), tenths(y)
    return first + (second if second.startswith("-") else f" {second}")


def tenths(value: int) -> str:
    return re.sub(r"^(-?)0\.", r"\1.", f"{value / 10:g}")
