import { HASH_BYTES } from '../usagelog/merkle.ts'

// Checkpoints as in https://c2sp.org/tlog-checkpoint.

/** Size and root of a log. */
export interface LogHead {
  readonly size: number
  readonly root: Buffer
}

/** Names the layout of the lines below; a changed layout gets another one. */
const HEAD_LAYOUT = 'sluice-head/1'

/**
 * The entry of the log of heads that says what a usage log had: four lines, each ended by a line feed. They are the layout's
 * name, the number of the log, its size, and its root in base64.
 */
export function headText(log: number, { size, root }: LogHead): string {
  return `${HEAD_LAYOUT}\n${log}\n${size}\n${root.toString('base64')}\n`
}

/** The text of a checkpoint, without its signature. @param origin names the log that it is of */
export function checkpointText(origin: string, { size, root }: LogHead): string {
  return `${origin}\n${size}\n${root.toString('base64')}\n`
}

/** Reads the text of a checkpoint; undefined for a text that is not a checkpoint of this origin. */
export function parseCheckpoint(text: string, origin: string): LogHead | undefined {
  const [first, digits = '', encoded = '', end, ...rest] = text.split('\n')
  const [size, root] = [Number(digits), Buffer.from(encoded, 'base64')]
  if (first !== origin || end !== '' || rest.length > 0) return undefined
  if (!/^(0|[1-9]\d*)$/.test(digits) || !Number.isSafeInteger(size) || root.length !== HASH_BYTES) return undefined
  return root.toString('base64') === encoded ? { size, root } : undefined
}
