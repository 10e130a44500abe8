import { createHmac, timingSafeEqual } from 'node:crypto'
import { isJsonObject, type JsonObject } from '../std/jsonObject.ts'
import { canonicalJson } from './canonicalJson.ts'
import { fromBase64UrlJson, toBase64Url } from './encoding.ts'

/**
 * The HTTP `Payment` authentication scheme (MPP): challenges, credentials and receipts.
 * https://paymentauth.org/draft-httpauth-payment-00.html
 */
export const MPP_METHOD = 'evm'
const MPP_INTENT = 'charge'
const SCHEME = 'payment '
/** Blanks are at one place between two others: where they could be at two, long runs of them would take seconds. */
const RANGE = /^([a-z*]+)\/([a-z*]+)(?:\s*;\s*q=([01](?:\.\d{0,3})?))?$/

/** A challenge; `request` and `opaque` are base64url JSON as they are sent. */
export interface Challenge {
  readonly id: string
  readonly realm: string
  readonly method: string
  readonly intent: string
  readonly request: string
  /** RFC 3339. */
  readonly expires: string
  /** RFC 9530 form of the body's SHA-256. */
  readonly digest: string
  readonly opaque: string
}

/** The credential that a client sends: the challenge it answers, the payment, and the payer. */
export interface Credential {
  readonly challenge: Challenge
  readonly payload: JsonObject
  readonly source: string
}

/** The content of the header Payment-Receipt. */
export interface MppReceipt {
  readonly method: string
  readonly challengeId: string
  /** Hash of the transaction. */
  readonly reference: string
  readonly status: 'success'
  /** RFC 3339. */
  readonly timestamp: string
  readonly chainId: number
}

/** Base64url of a value's canonical JSON (RFC 8785), so that a client that writes it anew gets the same text. */
export function canonicalText(value: JsonObject): string {
  return toBase64Url(canonicalJson(value))
}

/** The digest of a request's body as challenges state it. */
export function bodyDigest(sha256: Buffer): string {
  return `sha-256=:${sha256.toString('base64')}:`
}

/** Makes a challenge whose id binds all its members. */
export function newChallenge(secret: Buffer, members: Omit<Challenge, 'id' | 'method' | 'intent'>): Challenge {
  const challenge = { method: MPP_METHOD, intent: MPP_INTENT, ...members }
  return { id: challengeId(secret, challenge), ...challenge }
}

function challengeId(secret: Buffer, challenge: Omit<Challenge, 'id'>): string {
  const { realm, method, intent, request, expires, digest, opaque } = challenge
  const slots = [realm, method, intent, request, expires, digest, opaque].join('|')
  return createHmac('sha256', secret).update(slots).digest('base64url')
}

/** Whether a challenge was issued with this secret and is unaltered. */
export function isOurChallenge(secret: Buffer, challenge: Challenge): boolean {
  const expected = Buffer.from(challengeId(secret, challenge))
  const stated = Buffer.from(challenge.id)
  return expected.length === stated.length && timingSafeEqual(expected, stated)
}

/** The value of one WWW-Authenticate header. */
export function challengeHeader(challenge: Challenge): string {
  const { id, realm, method, intent, request, expires, digest, opaque } = challenge
  return (
    `Payment id="${id}", realm="${realm}", method="${method}", intent="${intent}", request="${request}"` +
    `, expires="${expires}", digest="${digest}", opaque="${opaque}"`
  )
}

/** Whether an Authorization header is of the Payment scheme, with a credential or without one. */
export function isPaymentScheme(authorization: string): boolean {
  return `${authorization} `.slice(0, SCHEME.length).toLowerCase() === SCHEME
}

/**
 * Reads an Authorization header of the Payment scheme.
 * @returns undefined when it is not base64url JSON with challenge, payload and source
 */
export function readCredential(authorization: string, bytesMax: number): Credential | undefined {
  if (!isPaymentScheme(authorization)) return undefined
  const message = fromBase64UrlJson(authorization.slice(SCHEME.length).trim(), bytesMax)
  if (message === undefined || !isJsonObject(message['payload'])) return undefined
  const { source } = message
  const challenge = readChallenge(message['challenge'])
  if (challenge === undefined || typeof source !== 'string' || source === '') return undefined
  return { challenge, payload: message['payload'], source }
}

function readChallenge(value: unknown): Challenge | undefined {
  if (!isJsonObject(value)) return undefined
  const names = ['id', 'realm', 'method', 'intent', 'request', 'expires', 'digest', 'opaque'] as const
  const challenge: Partial<Record<(typeof names)[number], string>> = {}
  for (const name of names) {
    const member = value[name] ?? ''
    if (typeof member !== 'string') return undefined
    challenge[name] = member
  }
  const {
    id = '',
    realm = '',
    method = '',
    intent = '',
    request = '',
    expires = '',
    digest = '',
    opaque = '',
  } = challenge
  if (id === '' || realm === '' || method === '' || intent === '' || request === '') return undefined
  return { id, realm, method, intent, request, expires, digest, opaque }
}

/** The value of a Payment-Receipt header. */
export function receiptHeader(receipt: MppReceipt): string {
  return toBase64Url(JSON.stringify(receipt))
}

/** The account that a credential's source names: did:pkh:eip155:CHAIN:ADDRESS, address in lower case. */
export function sourceAccount(source: string): { chainId: number; address: `0x${string}` } | undefined {
  const match = /^did:pkh:eip155:([1-9][0-9]{0,14}):(0x[0-9a-fA-F]{40})$/.exec(source)
  if (match === null) return undefined
  return { chainId: Number(match[1]), address: (match[2] ?? '').toLowerCase() as `0x${string}` }
}

/**
 * Orders and filters challenges by the header Accept-Payment, such as `evm/charge, tempo/*;q=0.5`. One that is malformed
 * or that nothing matches counts as absent.
 */
export function acceptsEvmCharge(accept: string): boolean {
  const ranges = accept.split(',').map((range) => RANGE.exec(range.trim()))
  if (ranges.some((range) => range === null)) return true
  const matching = ranges.filter(
    (range) => (range?.[1] === MPP_METHOD || range?.[1] === '*') && (range[2] === MPP_INTENT || range[2] === '*'),
  )
  return matching.length === 0 || matching.some((range) => Number(range?.[3] ?? '1') > 0)
}
