import type { Invariant } from './check.ts'

/** A kind of transfers other than charges: between which classes of ledger accounts it moves, and what it is booked for. */
interface Kind {
  readonly kind: string
  /** Pairs of classes, which are the ids of ledger accounts up to the first colon. */
  readonly ways: readonly (readonly [debit: string, credit: string])[]
  /**
   * SQL of a condition: the row that a transfer `t` is booked for, with its accounts and amounts. Absent where another invariant
   * compares the transfers of the kind with their rows in both directions.
   */
  readonly source?: string
}

const way = (debit: string, credit: string) => [[debit, credit]] as const
/** Before coin was kept in coin, escrow was of US dollars. */
const intoEscrow = [
  ['coin', 'escrow_coin'],
  ['coin', 'escrow'],
] as const
const outOfEscrow = (credit: string) =>
  [
    ['escrow_coin', credit],
    ['escrow', credit],
  ] as const

const DEBIT = `EXISTS (SELECT FROM debits d WHERE d.id = t.ref AND NOT d.voided AND t.debit = 'coin:' || d.account_id AND d.units = t.units)`
const row = (table: string, condition: string): string =>
  `EXISTS (SELECT FROM ${table} s WHERE s.id = split_part(t.ref, ':', 1) AND ${condition})`
const payout = (purpose: string): string => `EXISTS (SELECT FROM revenue_payouts o WHERE o.purpose = '${purpose}'
  AND o.number::text = split_part(t.ref, ':', 1) AND o.units = t.units AND o.nanos = coalesce(t.coin_nanos, t.units))`
const order = (condition: string): string => `EXISTS (SELECT FROM lock_orders o WHERE o.id = t.ref AND (${condition}))`
const fill = (condition: string): string => `EXISTS (
  SELECT FROM lock_fills f JOIN lock_orders taker ON taker.id = f.taker_order JOIN lock_orders maker ON maker.id = f.maker_order
  CROSS JOIN LATERAL (SELECT
    CASE taker.side WHEN 'buy' THEN taker.account_id ELSE maker.account_id END AS buyer,
    CASE taker.side WHEN 'buy' THEN maker.account_id ELSE taker.account_id END AS seller) AS sides
  WHERE f.taker_order = split_part(t.ref, ':', 1) AND f.maker_order = split_part(t.ref, ':', 2) AND ${condition})`
/** When coin began to be kept in coin: earlier books have transfers without such rows, and those that converted them. */
const SINCE = '(SELECT applied_at FROM schema_migrations WHERE version = 160)'
/** An operator's gift is in the activity of its account; there are ledger accounts of no account in tests alone. */
const CREDITED = `
  EXISTS (SELECT FROM activity a WHERE a.account_id = substr(t.credit, 6) AND a.type = 'coin.credited' AND a.details ->> 'ref' = t.ref)
  OR NOT EXISTS (SELECT FROM accounts a WHERE a.id = substr(t.credit, 6))`

/** Every kind of transfers that the gateway books in addition to charges. */
const KINDS: readonly Kind[] = [
  {
    kind: 'expire',
    ways: [
      ['grant', 'house'],
      ['lock', 'lock_issued'],
    ],
    source: `starts_with(t.ref, 'expire:')`,
  },
  {
    kind: 'burn',
    ways: [
      ['lock', 'lock_issued'],
      ['house', 'revenue'],
      ['house', 'revenue_unpaid'],
    ],
  },
  {
    kind: 'earn',
    ways: way('lock_unearned', 'revenue'),
    source: `EXISTS (SELECT FROM transfers b
      WHERE b.ref = t.ref AND b.kind = 'burn' AND b.credit = 'lock_issued:' || substr(t.debit, 15))`,
  },
  {
    kind: 'grant',
    ways: way('house', 'grant'),
    source: `EXISTS (SELECT FROM grants g
      WHERE t.credit = 'grant:' || g.id AND g.ref = t.ref AND g.units = t.units)`,
  },
  { kind: 'payment', ways: way('payments_in', 'coin'), source: CREDITED },
  { kind: 'deposit', ways: way('payments_in', 'coin') },
  { kind: 'deposit_lost', ways: way('house', 'payments_in'), source: row('deposits', 's.units = t.units') },
  { kind: 'deposit_found', ways: way('payments_in', 'house'), source: row('deposits', 's.units = t.units') },
  { kind: 'pay_in', ways: way('payments_in', 'coin'), source: row('payments', `t.credit = 'coin:' || s.account_id`) },
  { kind: 'pay_in_lost', ways: way('house', 'payments_in'), source: row('payments', 's.units = t.units') },
  { kind: 'pay_in_found', ways: way('payments_in', 'house'), source: row('payments', 's.units = t.units') },
  {
    kind: 'refund',
    ways: way('coin', 'escrow'),
    source: row('payments', `t.debit = 'coin:' || s.account_id AND s.back_units = t.units`),
  },
  {
    kind: 'refund_rounding',
    ways: [
      ['coin', 'revenue'],
      ['coin', 'house'],
    ],
    source: row('payments', `t.debit = 'coin:' || s.account_id`),
  },
  {
    kind: 'refund_sent',
    ways: way('escrow', 'payments_in'),
    source: `EXISTS (SELECT FROM refunds f
      WHERE f.id = split_part(t.ref, '#', 1) AND f.units = t.units)`,
  },
  {
    kind: 'refund_returned',
    ways: way('payments_in', 'escrow'),
    source: `EXISTS (SELECT FROM refunds f
      WHERE f.id = split_part(t.ref, '#', 1) AND f.units = t.units)`,
  },
  { kind: 'settlement_fee', ways: way('coin', 'revenue') },
  { kind: 'payer_credit_used', ways: way('payer_credit', 'coin') },
  { kind: 'payer_credit_kept', ways: way('coin', 'payer_credit') },
  {
    kind: 'agent_fund',
    ways: way('coin', 'coin'),
    source: `${DEBIT} AND EXISTS (SELECT FROM agents a
      WHERE t.credit = 'coin:' || a.id AND t.debit = 'coin:' || a.owner_id)`,
  },
  { kind: 'agent_pay', ways: way('coin', 'coin'), source: DEBIT },
  { kind: 'link', ways: intoEscrow, source: DEBIT },
  { kind: 'link_claim', ways: outOfEscrow('coin'), source: row('links', `t.credit = 'coin:' || s.claimed_by`) },
  { kind: 'link_cancel', ways: outOfEscrow('coin'), source: row('links', `t.credit = 'coin:' || s.account_id`) },
  { kind: 'link_expiry', ways: outOfEscrow('coin'), source: row('links', `t.credit = 'coin:' || s.account_id`) },
  { kind: 'withdrawal', ways: intoEscrow, source: DEBIT },
  { kind: 'gas_fee', ways: way('coin', 'revenue'), source: DEBIT },
  { kind: 'withdrawal_sent', ways: outOfEscrow('payments_in'), source: row('withdrawals', 's.units = t.units') },
  {
    kind: 'withdrawal_unsent',
    ways: [
      ['payments_in', 'escrow_coin'],
      ['payments_in', 'escrow'],
    ],
    source: row('withdrawals', 's.units = t.units'),
  },
  {
    kind: 'withdrawal_returned',
    ways: outOfEscrow('coin'),
    source: row('withdrawals', `t.credit = 'coin:' || s.account_id`),
  },
  {
    kind: 'denomination',
    ways: [
      ['escrow', 'escrow_coin'],
      ['coin', 'house'],
      ['house', 'coin'],
    ],
    source: 'false',
  },
  { kind: 'reward_share', ways: way('revenue', 'rewards') },
  { kind: 'vault_share', ways: way('revenue', 'vault') },
  {
    kind: 'reward_credit',
    ways: way('rewards', 'coin'),
    source: `EXISTS (SELECT FROM reward_shares s
      WHERE t.ref = s.number || ':' || s.address AND t.credit = 'coin:' || s.account_id AND s.nanos = coalesce(t.coin_nanos, t.units))`,
  },
  { kind: 'reward_sent', ways: way('rewards', 'payments_in'), source: payout('reward') },
  { kind: 'reward_unsent', ways: way('payments_in', 'rewards'), source: payout('reward') },
  { kind: 'vault_sent', ways: way('vault', 'payments_in'), source: payout('vault') },
  { kind: 'vault_unsent', ways: way('payments_in', 'vault'), source: payout('vault') },
  { kind: 'referral', ways: way('revenue', 'coin') },
  { kind: 'provider_share', ways: way('provider_cost', 'coin') },
  { kind: 'provider_probe', ways: way('provider_cost', 'coin') },
  {
    kind: 'lock_issue',
    ways: way('lock_issued', 'lock'),
    source: `t.debit = 'lock_issued:' || t.ref AND t.credit = 'lock:' || t.ref || ':operator'`,
  },
  {
    kind: 'lock_order',
    ways: [
      ['coin', 'escrow_locks'],
      ['lock_unearned', 'escrow_locks'],
      ['lock', 'lock_escrow'],
    ],
    source: order(`
      t.debit = 'coin:' || o.account_id OR t.debit = 'lock:' || o.series_id || ':' || o.account_id
      OR o.account_id = 'operator' AND t.debit = 'lock_unearned:' || o.series_id`),
  },
  {
    kind: 'lock_sale',
    ways: [
      ['escrow_locks', 'coin'],
      ['escrow_locks', 'lock_unearned'],
    ],
    source: fill(`
      t.credit = CASE seller WHEN 'operator' THEN 'lock_unearned:' || f.series_id ELSE 'coin:' || seller END`),
  },
  {
    kind: 'lock_fee',
    ways: way('escrow_locks', 'revenue'),
    // The sums are compared with the fills of both accounts elsewhere.
    source: fill('true'),
  },
  {
    kind: 'lock_tokens',
    ways: way('lock_escrow', 'lock'),
    source: fill(`
      t.debit = 'lock_escrow:' || f.series_id AND t.credit = 'lock:' || f.series_id || ':' || buyer`),
  },
  {
    kind: 'lock_cancel',
    ways: [
      ['escrow_locks', 'coin'],
      ['escrow_locks', 'lock_unearned'],
      ['lock_escrow', 'lock'],
    ],
    source: order(`
      t.credit IN ('coin:' || o.account_id, 'lock:' || o.series_id || ':' || o.account_id)
      OR o.account_id = 'operator' AND t.credit = 'lock_unearned:' || o.series_id`),
  },
  {
    kind: 'lock_expiry',
    ways: [
      ['escrow_locks', 'coin'],
      ['escrow_locks', 'lock_unearned'],
      ['lock_escrow', 'lock_issued'],
      ['lock', 'lock_issued'],
      ['lock_onchain', 'lock_issued'],
    ],
    source: `${order(`
      t.credit IN ('coin:' || o.account_id, 'lock_issued:' || o.series_id)
      OR o.account_id = 'operator' AND t.credit = 'lock_unearned:' || o.series_id`)}
      OR t.debit IN ('lock:' || t.ref || ':operator', 'lock_onchain:' || t.ref) AND t.credit = 'lock_issued:' || t.ref`,
  },
  {
    kind: 'lock_earned',
    ways: way('lock_unearned', 'revenue'),
    source: `t.debit = 'lock_unearned:' || t.ref
      AND EXISTS (SELECT FROM lock_series s WHERE s.id = t.ref AND s.state = 'closed')`,
  },
  {
    kind: 'lock_payback',
    ways: [
      ['lock', 'lock_issued'],
      ['lock_unearned', 'coin'],
    ],
  },
  { kind: 'lock_withdrawal', ways: way('lock', 'lock_onchain') },
  { kind: 'lock_returned', ways: way('lock_onchain', 'lock') },
  { kind: 'lock_redeemed', ways: way('lock_onchain', 'lock') },
]

const WAYS = KINDS.flatMap(({ kind, ways }) => ways.map(([debit, credit]) => `('${kind}', '${debit}', '${credit}')`))
const SOURCES = KINDS.flatMap(({ kind, source }) => (source === undefined ? [] : [`WHEN '${kind}' THEN ${source}`]))

/** Nothing moves money but what the gateway books: a closed table of kinds, each from the row that it is booked for. */
export const KIND_INVARIANTS: readonly Invariant[] = [
  {
    name: 'every transfer is of a known kind, between its accounts',
    checked: `SELECT '${KINDS.length} kinds other than charges'`,
    faults: `
      SELECT t.ref || ' is a transfer of the kind ' || t.kind || ' of ' || t.units || ' units from ' || t.debit || ' to ' || t.credit
      FROM transfers t LEFT JOIN (VALUES ${WAYS.join(', ')}) AS w (kind, debit, credit)
        ON w.kind = t.kind AND w.debit = split_part(t.debit, ':', 1) AND w.credit = split_part(t.credit, ':', 1)
      WHERE t.kind <> 'charge' AND w.kind IS NULL`,
  },
  {
    name: 'every transfer has what it was booked for',
    checked: `SELECT '${SOURCES.length} kinds with their own row'`,
    faults: `
      SELECT t.ref || ' is a ' || t.kind || ' of ' || t.units || ' units from ' || t.debit || ' to ' || t.credit || ', for which there is nothing'
      FROM transfers t WHERE t.kind <> 'charge' AND t.at > ${SINCE} AND NOT CASE t.kind ${SOURCES.join(' ')} ELSE true END`,
  },
]
