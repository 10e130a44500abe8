/** Arguments of a call that come anew with every piece, each with all those before, as Qianfan sends them. */
export interface Growing {
  /** The arguments so far; null once the provider is known to send pieces. */
  soFar: string | null
  isGrowing: boolean
}

/** A longer first piece is none of a provider that sends all of them again. */
const FIRST_CHARACTERS_MAX = 1_000
/** An object may follow that begins like the one that it is in. */
const MAY_NEST = /[:[]\s*$/

/** Whether a text repeats all arguments so far: where they begin an object, no piece that follows them begins alike. */
export function repeatsArguments({ soFar, isGrowing }: Growing, text: string): boolean {
  if (soFar === null || soFar === '' || !text.startsWith(soFar)) return false
  return isGrowing || (text.length > soFar.length && !MAY_NEST.test(soFar))
}

/** Takes the next piece that repeats nothing. */
export function noteArguments(call: Growing, text: string): void {
  if (call.isGrowing) call.soFar += text
  else {
    const isFirst = call.soFar === '' && text.startsWith('{') && text.length <= FIRST_CHARACTERS_MAX
    call.soFar = isFirst ? text : null
  }
}

/** The new part of a text that repeats all arguments so far. */
export function newArguments(call: Growing, text: string): string {
  const more = text.slice(call.soFar?.length)
  call.soFar = text
  call.isGrowing = true
  return more
}
