import { HEADS_LOG } from '../../../control/book/usagelog/head.ts'
import type { Corruption } from './corruption.ts'

const GROW = 'heads of the usage logs only grow'
const SIGNED = 'checkpoints sign the heads'
const HEADS = 'usage log heads equal the logs'
const CONTAINED = 'usage logs contain every head that was signed'
const nth = (n: number): string => `(SELECT size FROM checkpoints ORDER BY size LIMIT 1 OFFSET ${n})`
const EMPTY = `(SELECT min(log) FROM usage_log_heads WHERE size = 0 AND log < ${HEADS_LOG})`
const LAST = '(SELECT max(position) FROM log_heads)'

/** Of the usage logs, the log of their heads, and checkpoints. */
export const LOG_CORRUPTIONS: readonly Corruption[] = [
  {
    name: 'a stored node of a log',
    sql: () => `UPDATE usage_log_nodes SET hash = sha256(hash) WHERE log < ${HEADS_LOG} AND level = 4`,
    found: 'usage log nodes equal their leaves',
  },
  {
    name: 'a node beyond the end of a log',
    sql: () =>
      `INSERT INTO usage_log_nodes (log, level, index, hash) SELECT log, 4, 1000, hash FROM usage_log_nodes WHERE log < ${HEADS_LOG} LIMIT 1`,
    found: HEADS,
  },
  {
    name: 'a head that counts one more',
    sql: () => `UPDATE usage_log_heads SET size = size + 1 WHERE size > 0 AND log < ${HEADS_LOG}`,
    found: HEADS,
  },
  {
    name: 'other peaks of a head',
    sql: () =>
      `UPDATE usage_log_heads SET peaks = set_byte(peaks, 0, 255 - get_byte(peaks, 0)) WHERE size > 0 AND log < ${HEADS_LOG}`,
    found: HEADS,
  },
  {
    name: 'a node of a log that is empty',
    sql: () =>
      `INSERT INTO usage_log_nodes (log, level, index, hash) SELECT log, 4, 0, sha256('') FROM usage_log_heads WHERE log = ${EMPTY}`,
    found: HEADS,
  },
  {
    name: 'a receipt counted in the head of a log that is empty',
    sql: () => `UPDATE usage_log_heads SET size = 1, peaks = sha256('') WHERE log = ${EMPTY}`,
    found: HEADS,
  },
  {
    name: 'a signed head of a log that is empty',
    sql: () => `UPDATE log_heads SET log = ${EMPTY} WHERE position = ${LAST}`,
    found: CONTAINED,
  },
  {
    name: 'a receipt in a log that is empty',
    sql: () =>
      `UPDATE receipts SET log = ${EMPTY} WHERE request_id = (SELECT max(request_id) FROM receipts WHERE position = 0)`,
    found: 'usage log positions have no gap',
  },
  {
    name: 'another root of an old head',
    sql: () => 'UPDATE log_heads SET root = sha256(root) WHERE position = 0',
    found: CONTAINED,
  },
  {
    name: 'another size of an old head',
    sql: () => 'UPDATE log_heads SET size = size + 1 WHERE position = 0',
    found: SIGNED,
  },
  { name: 'an old head that is gone', sql: () => 'DELETE FROM log_heads WHERE position = 0', found: GROW },
  { name: 'the last head gone', sql: () => `DELETE FROM log_heads WHERE position = ${LAST}`, found: GROW },
  {
    name: 'a head beyond its log',
    sql: () => `UPDATE log_heads SET size = size + 1000 WHERE position = ${LAST}`,
    found: CONTAINED,
  },
  {
    name: 'a stored node of the log of heads',
    sql: () => `UPDATE usage_log_nodes SET hash = sha256(hash) WHERE log = ${HEADS_LOG}`,
    found: 'nodes of the log of heads equal its entries',
  },
  { name: 'the oldest checkpoint gone', sql: () => `DELETE FROM checkpoints WHERE size = ${nth(0)}`, found: SIGNED },
  {
    name: 'a checkpoint between others gone',
    sql: () => `DELETE FROM checkpoints WHERE size = ${nth(9)}`,
    found: SIGNED,
  },
  { name: 'two old checkpoints gone', sql: () => `DELETE FROM checkpoints WHERE size <= ${nth(1)}`, found: SIGNED },
  {
    name: 'the last checkpoint gone',
    sql: () => 'DELETE FROM checkpoints WHERE size = (SELECT max(size) FROM checkpoints)',
    found: SIGNED,
  },
  {
    name: 'another signature of an old checkpoint',
    sql: () =>
      `UPDATE checkpoints SET note = overlay(note PLACING 'AAAA' FROM length(note) - 20) WHERE size = ${nth(0)}`,
    found: SIGNED,
  },
  {
    name: 'another root of an old checkpoint',
    sql: () =>
      `UPDATE checkpoints SET note = replace(note, split_part(note, E'\\n', 3), encode(sha256(''), 'base64')) WHERE size = ${nth(0)}`,
    found: SIGNED,
  },
  {
    name: 'the note of another checkpoint',
    sql: () =>
      `UPDATE checkpoints SET note = (SELECT note FROM checkpoints WHERE size = ${nth(0)}) WHERE size = ${nth(1)}`,
    found: SIGNED,
  },
  {
    name: 'a checkpoint of another size',
    sql: () => 'UPDATE checkpoints SET size = size + 1 WHERE size = (SELECT max(size) FROM checkpoints)',
    found: SIGNED,
  },
]
