"""Everything that touches a database file.

data/agents/NAME.sqlite, one an agent, is the truth about its sessions and holds their projection beside it: the tables are told in
migrations/agent/. data/registry.sqlite knows which agents and keys there are, who spawned whom, the tokens and the registered
secrets; data/queue.sqlite is the queue's and the ledger's. Store functions touch rows and never begin or commit: a verb does.
"""

from shared.store.pool import Store, open_store

__all__ = ["Store", "open_store"]
