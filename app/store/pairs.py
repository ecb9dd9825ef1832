"""Match (item, worker) pairs as a table, so that Postgres looks each of them up in an index."""

from collections.abc import Collection

from sqlalchemy import ARRAY, BigInteger, ColumnElement, Table, TableValuedAlias, Text, and_, bindparam, func

Pair = tuple[int, str]


def as_table(pairs: Collection[Pair]) -> TableValuedAlias:
    items = bindparam("pair_items", [item_id for item_id, _ in pairs], ARRAY(BigInteger))
    workers = bindparam("pair_workers", [worker for _, worker in pairs], ARRAY(Text))
    return func.unnest(items, workers).table_valued("item_id", "worker").render_derived()


def same_pair(table: Table, pairs: TableValuedAlias) -> ColumnElement[bool]:
    return and_(table.c.item_id == pairs.c.item_id, table.c.worker == pairs.c.worker)
