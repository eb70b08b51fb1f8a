from concurrent.futures import ThreadPoolExecutor

from tritonsmith.source import parse


def test_threads_may_parse_at_once() -> None:
    source = "\n".join(f"x{i} = [{'(' * 20}{i}{')' * 20}, {{'a': lambda y: y + {i}}}]" for i in range(300))
    with ThreadPoolExecutor(8) as threads:
        trees = list(threads.map(parse, [source] * 64))
    assert {len(tree.body) for tree in trees} == {300}
