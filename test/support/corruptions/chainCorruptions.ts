import type { Corruption } from './corruption.ts'

const SHARES = 'shares of the revenue are those of the net revenue, to the last unit'
const EARNED = 'what holders have earned is paid, credited, carried or owed'
const WITHDRAWN = 'every withdrawal is in escrow, sent once or returned'
const REFUNDED = 'every refund is sent once'
const DEPOSITED = 'every deposit is credited once'
const BATCHES = 'every settlement batch follows the one before and is anchored once'
const TREASURY = 'the treasury has the tokens of the book'
const CLOSED = 'every payment is charged, goes back or is kept'
const LAST = 'WHERE number = (SELECT max(number) FROM revenue_periods)'

/** A second transaction, mined, for what one has done already. */
const again = (purpose: string): string => `
  INSERT INTO chain_transactions (purpose, ref, token, transfer_from, transfer_to, amount, state, final, hash, block_number, block_hash)
  SELECT purpose, split_part(ref, '#', 1) || '#2', token, transfer_from, transfer_to, amount, state, final, hash, block_number, block_hash
  FROM chain_transactions WHERE purpose = '${purpose}'`

/** Of money that came over the chain or left by it, of the revenue that is shared, and of settlement batches. */
export const CHAIN_CORRUPTIONS: readonly Corruption[] = [
  { name: 'a withdrawal that was sent twice', sql: () => again('withdrawal'), found: WITHDRAWN },
  {
    name: 'a withdrawal that was sent twice, as a sum of the treasury',
    sql: () => again('withdrawal'),
    found: TREASURY,
  },
  {
    name: 'a sent withdrawal that is due again',
    sql: () => `UPDATE withdrawals SET state = 'sending'`,
    found: WITHDRAWN,
  },
  {
    name: 'a withdrawal of more tokens',
    sql: () => 'UPDATE withdrawals SET amount = amount + 1',
    found: 'every transaction moves what it is for',
  },
  {
    name: 'a withdrawal to another wallet',
    sql: () => `UPDATE withdrawals SET wallet = '0x${'9'.repeat(40)}'`,
    found: 'every transaction moves what it is for',
  },
  {
    name: 'a deleted withdrawal',
    sql: () => 'DELETE FROM withdrawals',
    found: 'every transfer has what it was booked for',
  },
  {
    name: 'a transaction that moved more',
    sql: () => `UPDATE chain_transactions SET amount = amount + 1 WHERE purpose = 'withdrawal'`,
    found: TREASURY,
  },
  {
    name: 'a transaction that lost its nonce',
    sql: () =>
      `UPDATE chain_transactions SET state = 'displaced', hash = NULL, block_number = NULL, block_hash = NULL WHERE purpose = 'withdrawal'`,
    found: 'every nonce went to its own transaction',
  },
  { name: 'a refund that was sent twice', sql: () => again('refund'), found: REFUNDED },
  { name: 'a refund of more', sql: () => 'UPDATE refunds SET amount = amount + 1', found: REFUNDED },
  { name: 'a refund that counts as not sent', sql: () => `UPDATE refunds SET state = 'sending'`, found: REFUNDED },
  {
    name: 'a payment of which more goes back',
    sql: () => 'UPDATE payments SET back_units = back_units + 1',
    found: CLOSED,
  },
  {
    name: 'a payment of more',
    sql: () => 'UPDATE payments SET units = units + 1',
    found: 'every payment that arrived is credited once',
  },
  {
    name: 'a payment that is not on the chain',
    sql: () => `DELETE FROM chain_transactions WHERE purpose = 'payment'`,
    found: 'every credited payment is on the chain',
  },
  { name: 'a deposit of more', sql: () => 'UPDATE deposits SET units = units + 1', found: DEPOSITED },
  {
    name: 'a deposit of another account',
    sql: ({ accountId }) => `UPDATE deposits SET account_id = '${accountId}'`,
    found: DEPOSITED,
  },
  { name: 'a deleted deposit', sql: () => 'DELETE FROM deposits', found: DEPOSITED },
  {
    name: 'a deposit whose transfer was not seen',
    sql: () => `DELETE FROM chain_transfers WHERE purpose = 'deposit'`,
    found: 'every credited deposit is on the chain',
  },
  {
    name: 'other tokens at the beginning',
    sql: () => 'UPDATE chain_openings SET amount = amount + 1',
    found: TREASURY,
  },
  {
    name: 'a claimed link that is open again',
    sql: () => `UPDATE links SET status = 'open', claimed_by = NULL, ended_at = NULL WHERE status = 'claimed'`,
    found: 'escrow holds what open links hold',
  },
  {
    name: 'an open link of more',
    sql: () => `UPDATE links SET coin_nanos = coin_nanos + 1 WHERE status = 'open'`,
    found: 'escrow holds what open links hold',
  },
  {
    name: 'a larger reward',
    sql: () => `UPDATE revenue_periods SET reward_units = reward_units + 1 ${LAST}`,
    found: SHARES,
  },
  {
    name: 'more coin for a reward',
    sql: () => `UPDATE revenue_periods SET reward_nanos = reward_nanos + 1 ${LAST}`,
    found: SHARES,
  },
  {
    name: 'a larger share of the vault',
    sql: () => `UPDATE revenue_periods SET vault_units = vault_units + 1 ${LAST}`,
    found: SHARES,
  },
  {
    name: 'more revenue of a period',
    sql: () => `UPDATE revenue_periods SET total_units = total_units + 1 ${LAST}`,
    found: SHARES,
  },
  { name: 'a period that is gone', sql: () => `DELETE FROM revenue_periods WHERE number = 1`, found: SHARES },
  {
    name: 'a share of the revenue that was not booked',
    sql: () => `DELETE FROM transfers WHERE kind = 'vault_share'`,
    found: SHARES,
  },
  {
    name: 'a holder that earned more',
    sql: () => 'UPDATE reward_holders SET earned_nanos = earned_nanos + 1, carried_nanos = carried_nanos + 1',
    found: EARNED,
  },
  { name: 'a reward of a holder', sql: () => 'UPDATE reward_shares SET nanos = nanos + 1', found: EARNED },
  {
    name: 'a larger payout',
    sql: () => `UPDATE revenue_payouts SET nanos = nanos + 1 WHERE purpose = 'reward'`,
    found: EARNED,
  },
  {
    name: 'a payout that counts as sent',
    sql: () => `UPDATE revenue_payouts SET state = 'sent' WHERE purpose = 'vault'`,
    found: 'every share of the revenue is sent once',
  },
  {
    name: 'paid revenue that is not shared',
    sql: () => `UPDATE transfers SET credit = 'revenue_unpaid:' || split_part(credit, ':', 2)
      WHERE kind = 'charge' AND starts_with(credit, 'revenue:')`,
    found: 'revenue that is shared was paid in coin',
  },
  {
    name: 'other charges of a settlement batch',
    sql: () => 'UPDATE settlement_batches SET charged_units = charged_units + 1',
    found: BATCHES,
  },
  {
    name: 'another root of a settlement batch',
    sql: () => 'UPDATE settlement_batches SET root = sha256(root)',
    found: BATCHES,
  },
  {
    name: 'another range of a settlement batch',
    sql: () => 'UPDATE settlement_batches SET receipts_until = receipts_until + 1',
    found: BATCHES,
  },
  {
    name: 'another number of a settlement batch',
    sql: () => 'UPDATE settlement_batches SET number = 2',
    found: BATCHES,
  },
]
