import { accountKey, shardOf } from '../../../contract/wire/redisKeys.ts'
import type { Corruption } from './corruption.ts'

const TOKENS = 'tokens of every series are held, in escrow, on the chain or burnt'
const ESCROW = 'escrow of locks equals their open orders'
const FILLS = 'orders of locks are filled as their fills say'
const BURNT = 'every receipt burns what was taken from the holding'
const BID = `(SELECT id FROM lock_orders WHERE side = 'buy' AND status = 'open')`
const SERIES = '(SELECT id FROM lock_series)'

/** Of compute locks: series, holdings, orders and fills. */
export const LOCK_CORRUPTIONS: readonly Corruption[] = [
  {
    name: 'tokens that are in two holdings',
    sql: ({ accountId }) =>
      `UPDATE ledger_accounts SET balance = balance + 1000 WHERE kind = 'lock' AND owner = '${accountId}'`,
    found: TOKENS,
  },
  {
    name: 'tokens that a balanced transfer has invented, and admission knows',
    sql: ({ accountId }) => `
      INSERT INTO transfers (ref, kind, debit, credit, units)
        SELECT 'forged:forged', 'lock_tokens', 'lock_escrow:' || id, 'lock:' || id || ':${accountId}', 1000 FROM lock_series;
      UPDATE ledger_accounts SET balance = balance + CASE WHEN starts_with(id, 'lock_escrow:') THEN -1000 ELSE 1000 END
        WHERE id IN ('lock_escrow:' || ${SERIES}, 'lock:' || ${SERIES} || ':${accountId}')`,
    async outside({ redis, accountId }) {
      const key = accountKey(shardOf(accountId), accountId)
      const held = String(await redis.hget(key, 'l'))
      await redis.hset(
        key,
        'l',
        held.replace(/(\d+)(?=;|$)/, (units) => String(Number(units) + 1_000)),
      )
    },
    found: 'every transfer has what it was booked for',
  },
  {
    name: 'a smaller supply',
    sql: () => 'UPDATE lock_series SET supply_micros = supply_micros - 1000000',
    found: TOKENS,
  },
  {
    name: 'a series that is closed while tokens are held',
    sql: () => `UPDATE lock_series SET state = 'closed'`,
    found: TOKENS,
  },
  {
    name: 'another price of a series',
    sql: () => 'UPDATE lock_series SET locked_price_units = 2 * locked_price_units',
    found: 'every receipt burns whole micro-tokens of its series',
  },
  {
    name: 'less coin in escrow for a bid',
    sql: () => `UPDATE lock_orders SET escrow_nanos = escrow_nanos - 1 WHERE id = ${BID}`,
    found: ESCROW,
  },
  {
    name: 'more tokens in escrow for an ask',
    sql: () => `UPDATE lock_orders SET escrow_micros = escrow_micros + 1000 WHERE side = 'sell' AND status = 'open'`,
    found: ESCROW,
  },
  {
    name: 'an open bid that counts as cancelled',
    sql: () => `UPDATE lock_orders SET status = 'cancelled', ended_at = now(), escrow_nanos = 0 WHERE id = ${BID}`,
    found: ESCROW,
  },
  {
    name: 'another price of an open bid',
    sql: () => `UPDATE lock_orders SET price_nanos = price_nanos + 1000000 WHERE id = ${BID}`,
    found: ESCROW,
  },
  {
    name: 'a bid above the asks',
    sql: () => `UPDATE lock_orders SET price_nanos = 1000000000 WHERE id = ${BID}`,
    found: 'no book of locks is crossed',
  },
  {
    name: 'a deleted fill',
    sql: () => 'DELETE FROM lock_fills WHERE id = (SELECT min(id) FROM lock_fills)',
    found: FILLS,
  },
  {
    name: 'a fill of more tokens',
    sql: () => 'UPDATE lock_fills SET token_micros = token_micros + 1000',
    found: FILLS,
  },
  { name: 'a fill at another price', sql: () => 'UPDATE lock_fills SET price_nanos = price_nanos + 1', found: FILLS },
  { name: 'a fill without its fee', sql: () => 'UPDATE lock_fills SET fee_nanos = 0', found: FILLS },
  {
    name: 'an order that is filled further',
    sql: () => `UPDATE lock_orders SET filled_micros = filled_micros + 1000 WHERE side = 'sell'`,
    found: FILLS,
  },
  {
    name: 'a deleted order',
    sql: () => `DELETE FROM lock_orders WHERE id = ${BID}`,
    found: 'every transfer has what it was booked for',
  },
  {
    name: 'an order of another account',
    sql: ({ otherId }) => `UPDATE lock_orders SET account_id = '${otherId}' WHERE id = ${BID}`,
    found: 'every transfer has what it was booked for',
  },
  {
    name: 'a receipt that burns less',
    sql: () => 'UPDATE receipts SET lock_units = lock_units - 1000, lock_micros = lock_micros - 1 WHERE lock_units > 0',
    found: BURNT,
  },
  {
    name: 'tokens of another holding that were burnt',
    sql: ({ otherId }) =>
      `UPDATE transfers SET debit = 'lock:' || ${SERIES} || ':${otherId}' WHERE kind = 'burn' AND starts_with(debit, 'lock:')`,
    found: BURNT,
  },
]
