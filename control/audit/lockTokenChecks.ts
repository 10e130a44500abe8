import { type PublicClient } from 'viem'
import { LOCK_TOKENS_ABI, numberOfId } from '../products/locks/tokens/lockTokensContract.ts'
import type { Pool } from '../runtime/db/pool.ts'
import { type AuditCheck, Faults, type Invariant } from './check.ts'

/** The name of the check of the chain. */
export const LOCK_TOKENS = 'contracts have the lock tokens that were minted and not redeemed'

/** Invariants of lock tokens on the chain by the book alone. */
export const LOCK_TOKEN_INVARIANTS: readonly Invariant[] = [
  {
    name: 'tokens on the chain are those withdrawn and neither returned nor redeemed',
    checked: `SELECT (SELECT count(*) FROM lock_withdrawals) || ' withdrawals, ' || count(*) || ' redemptions' FROM lock_redemptions`,
    faults: `
      SELECT s.id || ' has ' || coalesce(c.balance, 0) || ' units on the chain, withdrawn are ' || coalesce(w.units, 0) ||
        ', redeemed ' || coalesce(r.micros, 0) * (s.locked_price_units / 1000000)
      FROM lock_series s LEFT JOIN ledger_accounts c ON c.id = 'lock_onchain:' || s.id
        LEFT JOIN (SELECT series_id, sum(units) AS units FROM lock_withdrawals WHERE state IN ('sending', 'sent') GROUP BY 1) w
          ON w.series_id = s.id
        LEFT JOIN (SELECT series_id, sum(micros) AS micros FROM lock_redemptions WHERE state = 'credited' GROUP BY 1) r
          ON r.series_id = s.id
      WHERE coalesce(c.balance, 0) <> CASE WHEN s.state IN ('open', 'broken')
        THEN coalesce(w.units, 0) - coalesce(r.micros, 0) * (s.locked_price_units / 1000000) ELSE 0 END
        AND NOT (s.state IN ('open', 'broken') AND s.ends_at_ms <= extract(epoch FROM now()) * 1000)`,
  },
  {
    name: 'every withdrawal and redemption of lock tokens is booked once',
    checked: `SELECT count(*) || ' returned' FROM lock_withdrawals WHERE state = 'returned'`,
    faults: `
      SELECT coalesce(w.ref, t.ref) || ' of ' || coalesce(w.units, 0) || ' units as ' || coalesce(w.kind, t.kind) ||
        ', its transfers are ' || coalesce(t.units, 0)
      FROM (
        SELECT 'lock_withdrawal' AS kind, id AS ref, units, 'lock:' || series_id || ':' || account_id AS holding
          FROM lock_withdrawals
        UNION ALL SELECT 'lock_returned', id || ':returned', units, 'lock:' || series_id || ':' || account_id
          FROM lock_withdrawals WHERE state = 'returned'
        UNION ALL SELECT 'lock_redeemed', r.id, r.micros::numeric * (s.locked_price_units / 1000000),
          'lock:' || r.series_id || ':' || r.account_id
          FROM lock_redemptions r JOIN lock_series s ON s.id = r.series_id WHERE r.state = 'credited'
      ) w FULL JOIN (
        SELECT kind, ref, units, CASE kind WHEN 'lock_withdrawal' THEN debit ELSE credit END AS holding FROM transfers
        WHERE kind IN ('lock_withdrawal', 'lock_returned', 'lock_redeemed')
      ) t ON t.kind = w.kind AND t.ref = w.ref AND t.holding = w.holding
      WHERE coalesce(w.units, 0) <> coalesce(t.units, 0)`,
  },
]

interface Supply {
  readonly seriesId: string
  readonly contract: `0x${string}`
  readonly block: number
  /** Micro-tokens, minted and not redeemed up to the block. */
  readonly micros: string
  /** Micro-tokens that may be minted and not be recorded yet. */
  readonly pending: string
}

/** Compares the supply of each token, at the last block that was read, with what the book has minted less what was redeemed. */
export async function checkLockTokens(pool: Pool, chain: PublicClient): Promise<AuditCheck> {
  const found = await pool.query<Supply>(SUPPLIES)
  const faults = new Faults()
  for (const { seriesId, contract: address, block, micros, pending } of found.rows) {
    const read = { abi: LOCK_TOKENS_ABI, address, functionName: 'totalSupply', blockNumber: BigInt(block) } as const
    try {
      const supply = await chain.readContract({ ...read, args: [numberOfId(seriesId)] })
      if (supply >= BigInt(micros) && supply <= BigInt(micros) + BigInt(pending)) continue
      faults.add(
        `${address} has ${supply} of ${seriesId} at block ${block}, ${micros} by the book and ${pending} pending`,
      )
    } catch (error) {
      faults.add(`${address} cannot be read: ${(error as Error).message.split('\n')[0]}`)
    }
  }
  return faults.check(LOCK_TOKENS, `${found.rows.length} tokens`)
}

/** Series that go on; after its end a contract counts nothing of a series. */
const SUPPLIES = `
  SELECT w.series_id AS "seriesId", w.contract, c.scanned_block AS block,
    (sum(w.micros) FILTER (WHERE t.block_number <= c.scanned_block) - coalesce((
      SELECT sum(r.micros) FROM lock_redemptions r
      WHERE r.contract = w.contract AND r.series_id = w.series_id AND r.block_number <= c.scanned_block), 0))::text AS micros,
    coalesce(sum(w.micros) FILTER (WHERE w.state IN ('sending', 'sent') AND t.block_number IS NULL), 0)::text AS pending
  FROM lock_withdrawals w JOIN lock_series s ON s.id = w.series_id JOIN lock_scans c ON c.contract = w.contract
  LEFT JOIN chain_transactions t ON t.purpose = 'lock_mint' AND t.subject_id = w.id AND t.state = 'mined'
  WHERE s.state = 'open' AND s.ends_at_ms > extract(epoch FROM now()) * 1000
  GROUP BY w.series_id, w.contract, c.scanned_block
  HAVING count(t.id) FILTER (WHERE t.block_number <= c.scanned_block) > 0`
