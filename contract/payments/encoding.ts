import { type JsonObject, parseJsonObject } from '../std/jsonObject.ts'

const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/
const BASE64URL = /^[A-Za-z0-9_-]*$/

/** Base64 (standard alphabet) of a value's JSON, as x402 headers carry it. */
export function toBase64Json(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString('base64')
}

/** Reads an x402 header. As strict as the reference decoder: the URL alphabet is refused, missing padding is not. */
export function fromBase64Json(text: string, bytesMax: number): JsonObject | undefined {
  if (text === '' || text.length > bytesMax || !BASE64.test(text)) return undefined
  return parseJsonObject(Buffer.from(text, 'base64').toString('utf8')) ?? undefined
}

/** Base64url without padding of a text's UTF-8 bytes, as the Payment scheme carries JSON. */
export function toBase64Url(text: string): string {
  return Buffer.from(text).toString('base64url')
}

/** Reads base64url JSON of the Payment scheme; padding and the standard alphabet are refused. */
export function fromBase64UrlJson(text: string, bytesMax: number): JsonObject | undefined {
  if (text === '' || text.length > bytesMax || !BASE64URL.test(text)) return undefined
  return parseJsonObject(Buffer.from(text, 'base64url').toString('utf8')) ?? undefined
}

const UINT256_END = 1n << 256n

/** A decimal uint256 in text, as both protocols carry numbers; leading zeros are read, signs and exponents are not. */
export function parseUint256(text: unknown): bigint | undefined {
  if (typeof text !== 'string' || !/^[0-9]{1,78}$/.test(text)) return undefined
  const value = BigInt(text)
  return value < UINT256_END ? value : undefined
}

/** 32 bytes as 0x and 64 hex digits, in lower case. */
export function parseBytes32(text: unknown): `0x${string}` | undefined {
  if (typeof text !== 'string' || !/^0x[0-9a-fA-F]{64}$/.test(text)) return undefined
  return text.toLowerCase() as `0x${string}`
}

/** Whole bytes as 0x and hex digits, in lower case. */
export function parseBytes(text: unknown, bytesMax: number): `0x${string}` | undefined {
  if (typeof text !== 'string' || text.length > 2 + bytesMax * 2) return undefined
  return /^0x(?:[0-9a-fA-F]{2})*$/.test(text) ? (text.toLowerCase() as `0x${string}`) : undefined
}
