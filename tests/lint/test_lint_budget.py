from spark_rtm.lint.engine import lint_text


def test_exhausted_steps_keep_the_findings_before() -> None:
    lines = ["w.writeStream.trigger(realTime=True)", "f0 = lambda: 1"]
    lines += [f"f{n} = lambda: [{f'f{n - 1}(), ' * 40}]" for n in range(1, 9)]

    findings = lint_text("\n".join([*lines, "f8()", "w.writeStream.trigger(realTime=True)"]), "job.py")

    assert [(1, "trigger-duration"), (11, "unchecked")] == [(finding.line, finding.rule) for finding in findings]
