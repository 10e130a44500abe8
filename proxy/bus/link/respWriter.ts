import type { ScriptArgument } from '../../../control/contract/scripts.ts'

/** Parts of a command besides keys and arguments: its name, the script, the number of keys. */
const FIXED_PARTS = 3

/**
 * A call of a script as Redis reads it (RESP2, https://redis.io/docs/latest/develop/reference/protocol-spec/), as a
 * Latin-1 string: one character a byte. Texts have to be ASCII; what is not travels as a Buffer.
 * @param command EVALSHA with the script's SHA-1, or EVAL with its source
 */
export function scriptCall(
  command: 'EVALSHA' | 'EVAL',
  script: string,
  keys: readonly string[],
  args: readonly ScriptArgument[],
): string {
  let text = `*${FIXED_PARTS + keys.length + args.length}\r\n${bulk(command)}${bulk(script)}${bulk(String(keys.length))}`
  for (const key of keys) text += `$${key.length}\r\n${key}\r\n`
  for (const arg of args) text += bulk(typeof arg === 'string' ? arg : textOf(arg))
  return text
}

/** A command of texts alone. */
export function plainCall(...parts: readonly string[]): string {
  let text = `*${parts.length}\r\n`
  for (const part of parts) text += bulk(Buffer.from(part).toString('latin1'))
  return text
}

function bulk(text: string): string {
  return `$${text.length}\r\n${text}\r\n`
}

function textOf(arg: number | Buffer): string {
  return typeof arg === 'number' ? String(arg) : arg.toString('latin1')
}
