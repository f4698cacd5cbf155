"""Results as text for people."""

SHORT = {"score": "score", "kendall_tau": "tau", "ordered_pair_accuracy": "pairs", "top1_error": "top-1",
         "top5_error": "top-5", "top10_error": "top-10", "top100_error": "top-100", "graphs": "graphs"}


def number(value, digits=4):
    """A figure with fixed digits, or a dash where there is none."""
    return "-" if value is None else f"{value:.{digits}f}"


def percent(value, digits=2):
    """An error as a percentage, or a dash where there is none."""
    return "-" if value is None else f"{100 * value:.{digits}f} %"


def table(heading, rows):
    """Columns of text, the first to the left and the others to the right.

    Parameters
    ----------
    heading : sequence of str
    rows : list of sequence of str

    Returns
    -------
    str
    """
    lines = [list(heading), *map(list, rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(heading))]
    return "\n".join("  ".join(cell.ljust(width) if i == 0 else cell.rjust(width)
                               for i, (cell, width) in enumerate(zip(line, widths, strict=True))).rstrip()
                     for line in lines)


def cell(name, value):
    """A figure as people read it: errors as percentages, counts as they are."""
    if name.endswith("_error"):
        return percent(value)
    return str(value) if isinstance(value, int) else number(value)


def score_report(result, label=None):
    """The outcome of `score` as a table of groups, the overall figures and the warnings.

    Parameters
    ----------
    result : dict
        From `evaluation.scoring.score_submission`.
    label : str, optional
        Of the data set: its name, and whether it is simulated.

    Returns
    -------
    str
    """
    groups = result["groups"]
    seen = {name: None for part in groups.values() for name in part if name not in ("low", "high", "missing", "score",
                                                                                     "graphs")}
    names = [name for name in seen if any(part.get(name) is not None for part in groups.values())]
    heading = [f"{result['track']} track, {result['split']}", "graphs", "missing", "score", "95 % interval",
               *(SHORT.get(name, name) for name in names)]
    rows = [[group, str(part["graphs"]), str(part["missing"]), number(part["score"]), _interval(part),
             *(cell(name, part.get(name)) for name in names)] for group, part in groups.items()]
    head = [f"data set: {label}", ""] if label else []
    lines = [*head, table(heading, rows), "", f"score {number(result['score'])}  95 % interval {_interval(result)}"]
    if result["score_present"] != result["score"]:
        lines.append(f"mean over the {len(groups)} groups whose truth is here {number(result['score_present'])}")
    return "\n".join(lines + [f"warning: {line}" for line in result["warnings"]])


def _interval(part):
    return f"{number(part['low'])} to {number(part['high'])}"


def check_report(submission, strict):
    """The outcome of `check`: a verdict, then every reason and warning on a line of its own.

    Returns
    -------
    str
    """
    refusals, warnings = submission.problems.refusals(strict), submission.problems.warnings(strict)
    level = "strict" if strict else "tolerant"
    verdict = f"refused ({level})" if refusals else f"accepted ({level})"
    track = f"{submission.track.name} track, " if submission.track else ""
    head = f"{submission.path}: {verdict}: {track}{len(submission.rows):,} rows"
    return "\n".join([head, *(f"  {line}" for line in refusals), *(f"  warning: {line}" for line in warnings)])
