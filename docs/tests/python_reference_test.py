"""docs/reference/python.md has the public names of the Python package with their signatures and docstrings, which are
read from the sources: nothing has to be installed for it."""

import ast
import functools
import re
import textwrap
import unittest

from pages import DOCS, SOURCE, check_page

HEADING = """# Python reference

The classes and functions of the Python package with their arguments and errors. [Python](../python.md) introduces them with
programs that run; [Coming from DGL](../coming-from-dgl.md) has what differs from DGL. Exceptions are described
[there](../python.md#errors-and-exit-codes). Where a class is shown without arguments, functions make its objects. `Ids`,
`EdgeType` and other types of arguments are [those of `espalier.typing`](#espaliertyping).

This page is made from the docstrings: `ESPALIER_UPDATE_DOCS=1 ctest --preset release -R docs.python_reference`.
"""
PACKAGE = SOURCE / "python" / "espalier"
MODULES = ["espalier", "espalier.optim", "espalier.checkpoint", "espalier.audit", "espalier.nn", "espalier.nn.functional",
           "espalier.nn.models", "espalier.pyg", "espalier.dgl", "espalier.dgl.distributed", "espalier.dgl.dataloading"]
TYPES = "espalier.typing"
OF_THE_PACKAGE = {"core", "schema", "cluster", "links", "shared"}  # arguments of constructors that are not for programs


def file_of(module):
    path = PACKAGE.joinpath(*module.split(".")[1:])
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


@functools.cache
def parsed(module):
    return ast.parse(file_of(module).read_text())


def imports_of(module):
    """{name: (module, name there)} of what a module imports from the package."""
    found = {}
    for node in parsed(module).body:
        if isinstance(node, ast.ImportFrom) and node.module.startswith("espalier"):
            found.update({alias.asname or alias.name: (node.module, alias.name) for alias in node.names})
    return found


def definition_of(module, name):
    """(module, class or function) of a name, where it is defined; None of a module and of a value."""
    for node in parsed(module).body:
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)) and node.name == name:
            return module, node
    where = imports_of(module).get(name)
    if where is None or not file_of(where[0]).exists() or file_of(f"{where[0]}.{where[1]}").exists():
        return None
    return definition_of(*where)


def definitions(module):
    """(name, (module, class or function)) of the public names of a module, without its exceptions."""
    for name in public_names(module):
        place = definition_of(module, name)
        if place and "EspalierError" not in [ast.unparse(base) for base in getattr(place[1], "bases", ())]:
            yield name, place


def public_names(module):
    """The names in `__all__`; without one those that the module imports, if it is a package, or else defines."""
    tree = parsed(module)
    for node in tree.body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__":
            return ast.literal_eval(node.value)
    if file_of(module).name == "__init__.py":
        return sorted(name for name, (origin, _) in imports_of(module).items()
                      if not name.startswith("_") and not origin.endswith("._absent"))
    return [node.name for node in tree.body
            if isinstance(node, (ast.ClassDef, ast.FunctionDef)) and not node.name.startswith("_")]


class Unquoted(ast.NodeTransformer):
    """Annotations that are written as strings become what they say."""

    def visit_arg(self, argument):
        if isinstance(argument.annotation, ast.Constant) and isinstance(argument.annotation.value, str):
            argument.annotation = ast.parse(argument.annotation.value, mode="eval").body
        return argument


def signature(function, is_method=False):
    """The arguments, and what is returned, as the source has them."""
    words = ast.unparse(Unquoted().visit(function.args))
    if is_method:
        words = re.sub(r"^(self|cls)(, )?", "", words)
    returned = function.returns and ast.unparse(function.returns).strip("'")
    return f"({words})" + (f" -> {returned}" if returned and returned != "None" else "")


def members(module, node):
    """The public methods and properties of a class, and of those of its bases that are not public themselves."""
    found = {}
    for base in node.bases:
        if isinstance(base, ast.Name) and base.id.startswith("_") and (place := definition_of(module, base.id)):
            found.update(members(*place))
    found.update({one.name: one for one in node.body
                  if isinstance(one, ast.FunctionDef) and not one.name.startswith("_")})
    return found


def constructor(module, node):
    for one in node.body:
        if isinstance(one, ast.FunctionDef) and one.name == "__init__":
            return one
    for base in node.bases:
        place = definition_of(module, ast.unparse(base))
        if place and (found := constructor(*place)):
            return found
    return None


def kind_of(function):
    return {ast.unparse(decorator) for decorator in function.decorator_list}


def as_markdown(text, arguments=()):
    """A docstring with names of arguments and exceptions as code."""
    exceptions = [node.name for node in parsed("espalier.errors").body if isinstance(node, ast.ClassDef)]
    lines = []
    for line in textwrap.dedent(text).splitlines():
        if not line.startswith("    "):  # an example
            line = re.sub(rf"(?<![`\w.])({'|'.join(exceptions)})(?![`\w])", r"`\1`", line)
            for argument in arguments:
                line = re.sub(rf"(?<![`\w.{{\"]){argument}(?=(, \w+)*:( |$))", f"`{argument}`", line)
            line = re.sub(r"(?<!`)\bdocs/([\w/-]+\.md)(?!`)", r"[\1](../\1)", line)
        lines.append(line)
    return "\n".join(lines)


def arguments_of(function):
    return [] if function is None else [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]


def names_of_arguments(function):
    return [argument.arg for argument in arguments_of(function)]


def docstring(node):
    return ast.get_docstring(node) or ""


def section(name, where, node):
    if isinstance(node, ast.FunctionDef):
        yield f"### {name}\n\n```python\n{name}{signature(node)}\n```\n"
        yield as_markdown(docstring(node), names_of_arguments(node)) + "\n"
        return
    made = constructor(where, node)
    arguments = signature(made, True) if made and not OF_THE_PACKAGE & set(names_of_arguments(made)) else ""
    yield f"### {name}\n\n```python\nclass {name}{arguments}\n```\n"
    yield as_markdown(docstring(node), names_of_arguments(made)) + "\n"
    rows = []
    for method, function in members(where, node).items():
        kinds = kind_of(function)
        shown = f"`{method}`" if "property" in kinds else f"`{method}{signature(function, 'staticmethod' not in kinds)}`"
        words = as_markdown(docstring(function), names_of_arguments(function)).replace("\n\n", " ").replace("\n", " ")
        rows.append(f"- {shown}: {words}".removesuffix(": ") + "\n")
    if rows:
        yield "\n" + "".join(rows)


def aliases(module):
    """(name, docstring) of the type aliases of a module: the string below each."""
    body = parsed(module).body
    for node, below in zip(body, body[1:]):
        if isinstance(node, ast.AnnAssign) and isinstance(below, ast.Expr):
            yield node.target.id, below.value.value


def page():
    text = HEADING
    for module in MODULES:
        text += f"\n## {module}\n\n{as_markdown(docstring(parsed(module)))}\n"
        for name, place in definitions(module):
            text += "\n" + "".join(section(name, *place))
    text += f"\n## {TYPES}\n\n{docstring(parsed(TYPES))}\n\n"
    text += "".join(f"- `{name}`: {words}\n" for name, words in
                    [*aliases(TYPES), *((name, docstring(node)) for name, (_, node) in definitions(TYPES))])
    return "\n".join(line.rstrip() for line in text.splitlines()) + "\n"


class PythonReferenceTest(unittest.TestCase):
    maxDiff = None

    def test_the_page_has_the_docstrings(self):
        check_page(self, DOCS / "reference" / "python.md", page())

    def test_every_public_class_and_function_is_described(self):
        without = [f"{module}.{name}" for module in [*MODULES, TYPES] for name, (_, node) in definitions(module)
                   if not docstring(node)]
        self.assertEqual(without, [])

    def test_every_call_has_a_return_annotation(self):
        without = []
        for module in MODULES:
            for name, (where, node) in definitions(module):
                calls = {"": node} if isinstance(node, ast.FunctionDef) else members(where, node)
                without += [f"{module}.{name}.{call}".strip(".") for call, function in calls.items() if not function.returns]
        self.assertEqual(without, [])

    def test_every_argument_is_annotated(self):
        without = []
        for module in MODULES:
            for name, (where, node) in definitions(module):
                calls = {"": node} if isinstance(node, ast.FunctionDef) else dict(members(where, node))
                made = isinstance(node, ast.ClassDef) and constructor(where, node)
                if made and not OF_THE_PACKAGE & set(names_of_arguments(made)):
                    calls["__init__"] = made
                without += [f"{module}.{name}.{call}({argument.arg})" for call, function in calls.items()
                            for argument in arguments_of(function)
                            if argument.annotation is None and argument.arg not in ("self", "cls")]
        self.assertEqual(without, [])


if __name__ == "__main__":
    unittest.main()
