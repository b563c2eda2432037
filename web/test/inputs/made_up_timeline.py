"""Writes what `cutecc profile --json` does, of a made-up recording, and of samples, of examples/gemm.py.

Arguments: the file, and the folder of the record.
"""

import json
import sys
from dataclasses import replace
from pathlib import Path

import msgspec

REPOSITORY = Path(__file__).parents[3]
sys.path.insert(0, str(REPOSITORY / "test" / "unit" / "timelines"))

from pipelines import SITES, Costs, block_of, timeline_of  # noqa: E402

from cutecc.cli.records import read_records  # noqa: E402
from cutecc.report.code import Code  # noqa: E402
from cutecc.timelines.document import timeline_dict  # noqa: E402
from cutecc.timelines.timeline import Slowdown  # noqa: E402

LINES = [169, 172, 194, 200, 202, 204, 224, 230, 232, 193]
# As on the machine with the GPU.
sites = [
    msgspec.structs.replace(site, file="/srv/kernels/examples/gemm.py", line=line)
    for site, line in zip(SITES, LINES, strict=True)
]
blocks = [
    block_of(Costs(flight=flight, product=200), steps=32, consumers=8, number=number)
    for number, flight in enumerate((600, 640, 700, 1400, 620))
]
timeline = replace(timeline_of(blocks, Slowdown(218.3, 208.9, 205.1)), sites=sites)
(record,) = read_records(Path(sys.argv[2]), None)
((function,),) = Code(record).functions_by_file.values()


def sampled(offset: int, text: str) -> dict[str, object]:
    """Three of four samples are of waits for barriers."""
    samples = 300 if "SYNCS" in text else 1
    return {
        "offset": offset,
        "text": text,
        "samples": samples,
        "reasons": {"smsp__pcsamp_warps_issue_stalled_wait": samples},
    }


instructions = [sampled(each.offset, each.text) for each in function.instructions]
profile = {
    "title": "M=N=K=4096",
    "device": timeline.device,
    "period_cycles": 2048,
    "kernels": [{"symbol": function.name, "lines": [{"instructions": instructions}]}],
    "timeline": timeline_dict(timeline),
}
Path(sys.argv[1]).write_text(json.dumps([profile]))
