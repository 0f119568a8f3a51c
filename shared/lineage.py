"""The registry follows the agent databases: what a crash or a lost file left behind is mended from them.

Until it is mended, the narrower of the two holds (visibility.py), so that nobody sees too much meanwhile.
"""

from shared.store import Store, lineage
from shared.store.connect import write_transaction


def mend_lineage(store: Store, agent_id: str, now_ms: int) -> int:
    """The registry tells the same lineage as the agent's database; how many rows differed."""
    with store.reader(agent_id) as conn:
        told = list(lineage.claims_of(conn, agent_id))
    with store.registry_reader() as conn:
        known = lineage.known_claims(conn, agent_id)
    differing = [claim for claim in told if claim not in known]
    if differing:
        with store.registry_writer() as conn, write_transaction(conn, store.registry_path):
            lineage.write_claims(conn, differing, now_ms)
    return len(differing)
