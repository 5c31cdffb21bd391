"""HT figure 5.8: return bandwidth of STP at a promised rate of 1 Mbit/s over a link with bit errors.

Follows section 5.2.3: no rate control on the return path; USTATs increase with errors.
Differs: see `stp_errors.py`.
Leaves out the figure's points, which are not printed; the bounds follow from the reading of its words.
"""

from __future__ import annotations

from rows import Reproduction, Row
from stp_errors import BIT_ERROR_RATES, draw, measure

SOURCE = "Henderson 1999, figure 5.8 and section 5.2.3"
CLAIM = "The return bandwidth rises with the bit error ratio, as every loss is reported at once"


def reproduce() -> Reproduction:
    back = {ber: measure(ber)[1] for ber in BIT_ERROR_RATES}
    rows = [
        Row(
            "least rise from one ratio to the next", "times", None,
            min(b / a for a, b in zip(list(back.values()), list(back.values())[1:])), 1.01, 5, "words: rises, at each step"
        ),
        Row(
            "at 1e-8: three STATs of 44 bytes a round trip of 532 ms", "kbit/s", None, back[1e-8], 1.75, 2.2,
            "three STATs make 1.98; a tenth, as the queue is part of a round trip"
        ),
        Row(
            "at 1e-5 over 1e-8", "times", None, back[1e-5] / back[1e-8], 1.5, 8,
            "words: rises; a USTAT of 44 bytes for each of 9.6 losses a second would add 3.4 kbit/s, 1.7 times"
        ),
        Row(
            "at 1e-4 over 968 kbit/s", "%", None, 100 * back[1e-4] / 968, 0.5, 4,
            "drawn: a few per cent at most; a USTAT of 44 bytes for each second packet is 2.2"
        ),
    ]
    return Reproduction(rows, draw(back, "return bandwidth (kbit/s)"))
