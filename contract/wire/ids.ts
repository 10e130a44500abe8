import { hash, randomBytes, randomFillSync } from 'node:crypto'

const CROCKFORD = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const SECRET_LENGTH = 43
const POOL_BYTES = 4096

const RANDOM_LENGTH = 16
const ID_LENGTH_MAX = 32
const COUNT_LENGTH = 4
const COUNTS = 32 ** COUNT_LENGTH

/** The digits of ids, as bytes of ASCII. */
export const CODES: Uint8Array = Uint8Array.from(CROCKFORD, (character) => character.charCodeAt(0))
const pool = Buffer.allocUnsafe(POOL_BYTES)
let poolOffset = POOL_BYTES
/** Buffer for the current id: the prefix of its kind and millisecond, and room for the rest. */
const scratch = Buffer.allocUnsafe(ID_LENGTH_MAX)
let scratchPrefix = ''
let scratchMs = -1
let startLength = 0
/** The millisecond of the last id by the clock, and the number of ids before it in that millisecond. */
let lastMs = 0
let countOfMs = 0

export type IdPrefix =
  | ('req' | 'acct' | 'key' | 'grt' | 'own' | 'batch' | 'video' | 'agt' | 'evt' | 'sid')
  | ('lnk' | 'pay' | 'apr' | 'prov' | 'inc' | 'rfd' | 'dep' | 'wdr' | 'rfl' | 'bgr' | 'obs' | 'flow' | 'att')
  | ('lock' | 'lor' | 'lqt' | 'lwd' | 'lpb' | 'gas' | 'adm' | 'prb')

/**
 * A new id: the prefix, an underscore and 26 characters of ULID (48 bits of time, 80 random bits), so that ids of one
 * kind sort by time. https://github.com/ulid/spec
 *
 * Without a time, ids of this process sort in the order in which they are made: also within a millisecond, where the
 * first 20 of the random bits count, and after the clock was set back.
 * @param nowMs milliseconds since 1970; the clock's when absent
 */
export function newId(prefix: IdPrefix, nowMs?: number): string {
  if (nowMs === undefined) return nextId(prefix)
  writeId(prefix, nowMs)
  return scratch.toString('latin1', 0, startLength + RANDOM_LENGTH)
}

function nextId(prefix: IdPrefix): string {
  const nowMs = Date.now()
  if (nowMs > lastMs || ++countOfMs === COUNTS) {
    lastMs = Math.max(nowMs, lastMs + 1)
    countOfMs = 0
  }
  writeId(prefix, lastMs)
  for (let i = 0; i < COUNT_LENGTH; i++) {
    scratch[startLength + i] = CODES[(countOfMs >> (5 * (COUNT_LENGTH - 1 - i))) & 31] as number
  }
  return scratch.toString('latin1', 0, startLength + RANDOM_LENGTH)
}

function writeId(prefix: IdPrefix, ms: number): void {
  if (ms !== scratchMs || prefix !== scratchPrefix) {
    scratchMs = ms
    scratchPrefix = prefix
    startLength = scratch.write(`${prefix}_${encodeTime(ms)}`, 'latin1')
  }
  if (poolOffset + RANDOM_LENGTH > POOL_BYTES) {
    randomFillSync(pool)
    poolOffset = 0
  }
  for (let i = 0; i < RANDOM_LENGTH; i++)
    scratch[startLength + i] = CODES[(pool[poolOffset + i] as number) & 31] as number
  poolOffset += RANDOM_LENGTH
}

function encodeTime(ms: number): string {
  let text = ''
  let rest = ms
  for (let i = 0; i < 10; i++) {
    text = CROCKFORD[rest % 32] + text
    rest = Math.floor(rest / 32)
  }
  return text
}

/** Whether `text` has the form of an id with this prefix. */
export function isId(prefix: IdPrefix, text: string): boolean {
  return text.startsWith(`${prefix}_`) && /^[0-9A-HJKMNP-TV-Z]{26}$/.test(text.slice(prefix.length + 1))
}

/** A new secret of 256 random bits: the prefix, an underscore and 43 base62 characters. */
export function newSecret(prefix: 'sk' | 'ses' | 'rt' | 'lc' | 'lt'): string {
  let value = BigInt(`0x${randomBytes(32).toString('hex')}`)
  let text = ''
  for (let i = 0; i < SECRET_LENGTH; i++) {
    text = BASE62[Number(value % 62n)] + text
    value /= 62n
  }
  return `${prefix}_${text}`
}

/** The stored form of a secret, by which it is looked up: SHA-256, base64url. */
export function hashSecret(secret: string): string {
  return hash('sha256', secret, 'base64url')
}
