import type { CliContext } from './context.ts'

/** One option of a command. Options with a `value` take one; the others are switches. */
export interface Flag {
  readonly value?: string
  readonly help: string
  readonly repeatable?: boolean
}

export interface Arguments {
  /** Values of the positional arguments by name; optional ones may be missing. */
  readonly named: ReadonlyMap<string, string>
  readonly flags: ReadonlyMap<string, readonly string[]>
}

export interface Command {
  /** Name and arguments, such as "create <ACCOUNT>"; "[FILE]" is optional. */
  readonly synopsis: string
  readonly summary: string
  /** In lists of commands; `summary` when absent. */
  readonly brief?: string
  readonly flags?: Readonly<Record<string, Flag>>
  /** @returns the exit status, or nothing for 0 */
  readonly run: (args: Arguments, context: CliContext) => Promise<number | undefined>
}

/** Commands that share a first word. */
export interface CommandGroup {
  readonly name: string
  readonly summary: string
  readonly commands: readonly Command[]
}

/** A wrong call of a command; the message shows a right one. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

/** The value of a required argument. */
export function argument(args: Arguments, name: string): string {
  return args.named.get(name) ?? ''
}

/** The value of a flag, or undefined when it is not given. */
export function flag(args: Arguments, name: string): string | undefined {
  return args.flags.get(name)?.[0]
}

export function isSet(args: Arguments, name: string): boolean {
  return args.flags.has(name)
}
