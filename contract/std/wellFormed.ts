const BACKSLASH = 0x5c
const LETTER_U = 0x75
/** Makes a letter of ASCII lower case. */
const LOWER = 0x20
const LETTER_D = 0x64
const LETTER_A = 0x61
const ESCAPE_BYTES = 6

/**
 * Replaces escapes of lone surrogates in JSON bytes by those of U+FFFD, in place: such text is no Unicode, and many providers
 * refuse the whole body for it. Clients write it that cut a text between the halves of a character.
 */
export function mendSurrogates(json: Buffer): void {
  if (!json.includes(BACKSLASH) || !json.includes('\\u', 0, 'latin1')) return
  for (const start of ['\\ud', '\\uD']) {
    for (let at = json.indexOf(start, 0, 'latin1'); at >= 0; at = json.indexOf(start, at + start.length, 'latin1')) {
      if (isLone(json, at)) json.write('fffd', at + 2, 'latin1')
    }
  }
}

/** The same for JSON that is a text. */
export function wellFormedJson(text: string): string {
  if (!/\\u[dD]/.test(text)) return text
  const json = Buffer.from(text)
  mendSurrogates(json)
  return json.toString()
}

function isLone(json: Buffer, at: number): boolean {
  const half = halfAt(json, at)
  if (half === 'high') return halfAt(json, at + ESCAPE_BYTES) !== 'low'
  return half === 'low' && halfAt(json, at - ESCAPE_BYTES) !== 'high'
}

/** The half of a surrogate pair whose escape is at a place. */
function halfAt(json: Buffer, at: number): 'high' | 'low' | undefined {
  if (json[at] !== BACKSLASH || json[at + 1] !== LETTER_U || ((json[at + 2] ?? 0) | LOWER) !== LETTER_D)
    return undefined
  if (!beginsEscape(json, at)) return undefined
  // The digit after d: 8 and 9, a and b of the first half, c to f of the second.
  const digit = json[at + 3] ?? 0
  if (digit === 0x38 || digit === 0x39) return 'high'
  const letter = (digit | LOWER) - LETTER_A
  if (letter < 0 || letter > 5) return undefined
  return letter < 2 ? 'high' : 'low'
}

/** Whether a backslash begins an escape, rather than being escaped itself. */
function beginsEscape(json: Buffer, at: number): boolean {
  let before = 0
  while (json[at - 1 - before] === BACKSLASH) before++
  return before % 2 === 0
}
