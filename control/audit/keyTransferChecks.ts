import type { Invariant } from './check.ts'

/** Of payments by API keys to agents of other accounts, which a cap of the account's day bounds. */
export const KEY_TRANSFER_INVARIANTS: readonly Invariant[] = [
  {
    name: 'transfers by keys stay within the cap of their day',
    checked: `SELECT count(*) || ' transfers of ' || count(DISTINCT (account_id, day)) || ' days of accounts' FROM key_transfers`,
    faults: `
      SELECT debit_id || ' made ' || day_units || ' units of day ' || day || ' of ' || account_id || ', the cap was ' || cap_units
      FROM key_transfers WHERE day_units > cap_units
      UNION ALL
      SELECT account_id || ' on day ' || day || ': the transfers are ' || sum(units) || ', counted were ' || max(day_units)
      FROM key_transfers GROUP BY account_id, day HAVING sum(units) <> max(day_units)
      UNION ALL
      SELECT k.debit_id || ' counts ' || k.units || ' units of ' || k.account_id || ', its transfer has ' || coalesce(sum(t.units), 0)
      FROM key_transfers k LEFT JOIN transfers t ON t.ref = k.debit_id AND t.kind = 'agent_pay'
        AND t.debit IN (SELECT 'coin:' || a.id FROM agents a WHERE a.owner_id = k.account_id)
      GROUP BY k.debit_id HAVING k.units <> coalesce(sum(t.units), 0)`,
  },
  {
    name: "payments by agents' keys to other accounts are counted",
    checked: `SELECT count(*) || ' transfers' FROM key_transfers`,
    // Debits that are older than the count itself are not in it.
    faults: `
      SELECT d.id || ' paid ' || d.units || ' units with ' || d.key_id || ' and counts against no cap'
      FROM debits d JOIN transfers t ON t.ref = d.id AND t.kind = 'agent_pay'
        JOIN agents payer ON payer.id = d.account_id
        JOIN agents payee ON t.credit = 'coin:' || payee.id AND payee.owner_id <> payer.owner_id
      WHERE d.key_id <> '' AND NOT d.voided AND NOT EXISTS (SELECT FROM key_transfers k WHERE k.debit_id = d.id)
        AND d.at > (SELECT min(applied_at) FROM schema_migrations WHERE version >= 110)`,
  },
]
