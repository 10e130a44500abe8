import type { Invariant } from './check.ts'

/** Invariants of settlement batches within the book. */
export const SETTLEMENT_INVARIANTS: readonly Invariant[] = [
  {
    name: 'every settlement batch follows the one before and is anchored once',
    checked: `SELECT count(*) || ' batches' FROM settlement_batches`,
    faults: `
      SELECT 'batch ' || number || ' does not follow the one before' FROM (
        SELECT number, tree_size_from, log_from, log_until, receipts_from, receipts_until,
          lag(number, 1, 0::bigint) OVER before AS number_before, lag(tree_size, 1, 0::bigint) OVER before AS size_before,
          lag(log_until) OVER before AS until_before
        FROM settlement_batches WINDOW before AS (ORDER BY number)
      ) b
      WHERE number <> number_before + 1 OR tree_size_from <> size_before
        OR EXISTS (SELECT FROM generate_subscripts(log_from, 1) AS i
          WHERE log_from[i] < coalesce(until_before[i], 0) OR log_until[i] < log_from[i])
        OR receipts_from <> (SELECT sum(place) FROM unnest(log_from) AS place)
        OR receipts_until <> (SELECT sum(place) FROM unnest(log_until) AS place)
      UNION ALL
      SELECT 'batch ' || number || ' is not of its checkpoint: the statement, the note and the row differ'
      FROM settlement_batches
      WHERE split_part(note, E'\\n', 2) <> tree_size::text
        OR split_part(note, E'\\n', 3) <> replace(encode(root, 'base64'), E'\\n', '')
        OR (statement::jsonb ->> 'tree_size')::bigint <> tree_size OR statement::jsonb ->> 'root' <> encode(root, 'hex')
        OR (statement::jsonb #>> '{charged,units}')::numeric <> charged_units
      UNION ALL
      SELECT 'batch ' || b.number || ' is anchored ' || count(*) || ' times' FROM settlement_batches b
      JOIN chain_transactions t ON t.purpose = 'settlement' AND t.subject_id = b.number::text
        AND t.state = 'mined'
      GROUP BY b.number HAVING count(*) > 1`,
  },
]
