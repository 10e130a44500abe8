import { readdir, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Corrupted, Corruption } from './corruption.ts'

const LEAVES = 'usage log heads equal the logs'
const BOOKED = 'every charge is booked in full'
const FILES = 'archives of receipts have their digests'
const fileOf = async ({ archiveDir }: Corrupted): Promise<string> => {
  const name = (await readdir(archiveDir)).find((found) => found.endsWith('.gz'))
  return join(archiveDir, name ?? 'no archive')
}
/** Of leaf hashes, the one of a place. */
const leaf = (place: number): string => `substr(hashes, ${32 * place + 1}, 32)`
const LONG = 'length(hashes) >= 64'

/** Of a month that was put away. */
export const ARCHIVE_CORRUPTIONS: readonly Corruption[] = [
  {
    name: 'a leaf of a month that was put away',
    sql: () => 'UPDATE archived_leaves SET hashes = overlay(hashes PLACING sha256(hashes) FROM 1)',
    found: LEAVES,
  },
  {
    name: 'two leaves of a month that was put away in another order',
    sql: () =>
      `UPDATE archived_leaves SET hashes = overlay(hashes PLACING ${leaf(1)} || ${leaf(0)} FROM 1) WHERE ${LONG}`,
    found: LEAVES,
  },
  {
    name: 'a leaf of a month that was put away gone',
    sql: () => `UPDATE archived_leaves SET hashes = substr(hashes, 33) WHERE ${LONG}`,
    found: 'months that were put away keep their leaves',
  },
  {
    name: 'the leaves of a month that was put away gone',
    sql: () => 'DELETE FROM archived_leaves',
    found: 'months that were put away keep their leaves',
  },
  {
    name: 'leaves of a month that was put away at another place',
    sql: () => 'UPDATE archived_leaves SET position = position + 1',
    found: LEAVES,
  },
  {
    name: 'another sum of charges of a month that was put away',
    sql: () => 'UPDATE receipt_archives SET charge_units = charge_units + 1',
    found: BOOKED,
  },
  {
    name: 'another number of receipts of a month that was put away',
    sql: () => 'UPDATE receipt_archives SET receipts = receipts + 1',
    found: 'months that were put away keep their leaves',
  },
  {
    name: 'a month that was put away and has no entry',
    sql: () => 'DELETE FROM receipt_archives',
    found: BOOKED,
  },
  {
    name: 'a charge of a month that was put away',
    sql: () => `UPDATE transfers SET units = units + 1 WHERE kind = 'charge'
      AND ref = (SELECT min(ref) FROM transfers WHERE kind = 'charge')`,
    found: BOOKED,
  },
  {
    name: 'a deleted charge of a month that was put away',
    sql: () =>
      `DELETE FROM transfers WHERE kind = 'charge' AND ref = (SELECT min(ref) FROM transfers WHERE kind = 'charge')`,
    found: BOOKED,
  },
  {
    name: 'another usage of a key in a month that was put away',
    sql: () => 'UPDATE archived_key_usage SET units = units + 1',
    found: 'key usage equals the receipts and debits',
  },
  {
    name: 'another usage of a key in a month that was put away, in both tables',
    sql: () => `UPDATE archived_key_usage SET units = units + 1;
      UPDATE key_usage u SET units = u.units + 1 FROM archived_key_usage a WHERE a.key_id = u.key_id AND a.hour = u.hour`,
    found: 'admission key counters equal the book',
  },
  {
    name: 'another usage by day of a month that was put away',
    sql: () => 'UPDATE archived_usage_days SET output_tokens = output_tokens + 1',
    found: 'usage by day equals the receipts',
  },
  {
    name: 'another usage by outcome of a month that was put away',
    sql: () => 'UPDATE archived_usage_outcomes SET requests = requests + 1',
    found: 'usage by provider and outcome equals the receipts',
  },
  {
    name: 'another usage by hour of a month that was put away',
    sql: () => 'UPDATE archived_usage_hours SET requests = requests + 1',
    found: 'usage by hour equals the receipts',
  },
  {
    name: 'another usage by tag of a month that was put away',
    sql: () => `UPDATE archived_usage_tags SET units = units + 1 WHERE kind = 'tag'`,
    found: 'usage by tag and user equals the receipts',
  },
  {
    name: 'another usage by day of a month that was put away, in both tables',
    sql: () => `UPDATE archived_usage_days SET units = units + 1;
      UPDATE usage_days u SET units = u.units + 1 FROM archived_usage_days a
      WHERE (a.account_id, a.day, a.key_id, a.model) = (u.account_id, u.day, u.key_id, u.model)`,
    found: 'statistics equal the receipts',
  },
  {
    name: 'another digest of a file',
    sql: () => `UPDATE receipt_archives SET sha256 = encode(sha256(''), 'hex')`,
    found: FILES,
  },
  {
    name: 'a damaged file',
    outside: async (book) => writeFile(await fileOf(book), 'damaged'),
    found: FILES,
  },
  { name: 'a file that is cut off', outside: async (book) => truncate(await fileOf(book), 100), found: FILES },
]
