import { ByteText, bulk, FixedArguments } from '../../../contract/wire/scriptArguments.ts'
import type { ScriptArgument, ScriptKey } from '../../../contract/wire/scripts.ts'

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
  keys: readonly ScriptKey[],
  args: readonly ScriptArgument[],
): string {
  let keyCount = 0
  let argCount = 0
  let text = ''
  for (const key of keys) {
    keyCount += typeof key === 'string' ? 1 : key.texts.length
    text += typeof key === 'string' ? bulk(key) : key.wire
  }
  for (const arg of args) {
    argCount += arg instanceof FixedArguments ? arg.texts.length : 1
    text += arg instanceof FixedArguments ? arg.wire : bulk(textOf(arg))
  }
  return `*${FIXED_PARTS + keyCount + argCount}\r\n${bulk(command)}${bulk(script)}${bulk(String(keyCount))}${text}`
}

/** A command of texts alone. */
export function plainCall(...parts: readonly string[]): string {
  let text = `*${parts.length}\r\n`
  for (const part of parts) text += bulk(Buffer.from(part).toString('latin1'))
  return text
}

function textOf(arg: Exclude<ScriptArgument, FixedArguments>): string {
  if (typeof arg === 'string') return arg
  if (typeof arg === 'number') return String(arg)
  return arg instanceof ByteText ? arg.text : arg.toString('latin1')
}
