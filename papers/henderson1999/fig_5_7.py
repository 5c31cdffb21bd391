"""HT figure 5.7: STP at a promised rate of 1 Mbit/s over a geostationary link with bit errors.

Follows section 5.2.3: packets of 1000 bytes, 32 of them STP's and IP's header; the sender is limited by the maximum rate only.
Differs: see `stp_errors.py`.
Leaves out the figure's points, which are not printed; its ceiling and the effect of errors are in the text.
"""

from __future__ import annotations

from rows import Reproduction, Row
from stp_errors import BIT_ERROR_RATES, CEILING_KBPS, draw, measure, spoilt

SOURCE = "Henderson 1999, figure 5.7 and section 5.2.3"
CLAIM = "STP fills its rate up to bit error ratios of 1e-5; the loss of goodput is little more than the share of corrupted packets"


def reproduce() -> Reproduction:
    goodput = {ber: measure(ber)[0] for ber in BIT_ERROR_RATES}
    rows = [
        Row(
            "goodput without errors to speak of (1e-8)", "kbit/s", CEILING_KBPS, goodput[1e-8], 0.985 * CEILING_KBPS, CEILING_KBPS,
            "a ceiling; POLLs take up to a hundredth"
        ),
        Row("packets spoilt at 1e-4", "%", 55, 100 * spoilt(1e-4), 54.5, 55.5, "half of the last digit"),
        Row(
            "goodput at 1e-6 over 968 kbit/s", "", None, goodput[1e-6] / CEILING_KBPS, 0.98, 1, "words: high efficiency; errors spoil 0.8 %"
        ),
        Row(
            "goodput at 1e-5 over 968 kbit/s", "", None, goodput[1e-5] / CEILING_KBPS, 0.9, 0.95,
            "words: high efficiency; errors spoil 7.7 %"
        ),
    ]
    for ber in (1e-5, 1e-4):
        most = CEILING_KBPS * (1 - spoilt(ber))
        rows.append(
            Row(
                f"goodput at {ber:g} over what can arrive of 968 kbit/s", "", None, goodput[ber] / most, 0.95, 1.001,
                "what errors let through is a ceiling; repeats of repeats cost less than a twentieth"
            )
        )
    small = measure(1e-4, 280)[0]
    rows.append(
        Row(
            "1e-4: packets of 300 bytes over packets of 1000", "times", None, small / goodput[1e-4], 1.2, 2.0,
            "words: maintained by smaller packets; without headers 1.75"
        )
    )
    return Reproduction(rows, draw(goodput, "goodput (kbit/s)", CEILING_KBPS), ["As HT says, smaller packets help at 1e-4."])
