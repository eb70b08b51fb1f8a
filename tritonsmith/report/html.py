"""What the pages share: the template environment, highlighted source, its colours."""

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer, TextLexer, TOMLLexer


def environment() -> Environment:
    """The pages' templates, with everything escaped that is not marked as safe."""
    return Environment(
        loader=PackageLoader("tritonsmith.report", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def code(text: str, language: str = "python") -> Markup:
    """Source with its words marked for the colours below."""
    lexer = {"python": PythonLexer, "toml": TOMLLexer}.get(language, TextLexer)()
    return Markup(highlight(text, lexer, HtmlFormatter(cssclass="code")))


def colours(name: str) -> Markup:
    """Style rules of one of pygments' styles; the background is the page's own."""
    rules = HtmlFormatter(style=name, nobackground=True).get_style_defs(".code")
    return Markup(
        "\n".join(line for line in rules.splitlines() if line.startswith(".code .") and "line-height" not in line)
    )
