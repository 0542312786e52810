"""Conway's game on a small board, for some generations."""
def step(cells):
    counts = {}
    for x, y in cells:
        for dx in (-1, 0, 1):
            for dy in (-1, 0, 1):
                if (dx, dy) != (0, 0):
                    key = (x + dx, y + dy)
                    counts[key] = counts.get(key, 0) + 1
    return {c for c, n in counts.items() if n == 3 or (n == 2 and c in cells)}


def render(cells, size):
    return ["".join("#" if (x, y) in cells else "." for x in range(size)) for y in range(size)]


def fit_and_eval(data):
    glider = {(1, 0), (2, 1), (0, 2), (1, 2), (2, 2)}
    cells = glider
    populations = []
    for _ in range(4):
        cells = step(cells)
        populations.append(len(cells))
    moved = {(x + 1, y + 1) for x, y in glider}
    return {"populations": populations, "moved": cells == moved, "board": render(cells, 5)}


# data and metrics
DATA = [1, 2, 3, 4, 5]
METRICS = {'populations': [5, 5, 5, 5],
 'moved': True,
 'board': ['.....', '..#..', '...#.', '.###.', '.....']}
