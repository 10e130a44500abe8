/** Of all control characters, lines and columns alone are made of these. */
const CONTROLS = /(?![\t\n])\p{Cc}/gu
const HEX = 16
const DIGITS = 4

/**
 * A text for a terminal: providers and customers have written parts of it, and control characters in these would change what is
 * on the screen. They are written as in JSON, so that JSON stays the same.
 */
export function shownText(text: string): string {
  return text.replace(CONTROLS, (character) => `\\u${character.charCodeAt(0).toString(HEX).padStart(DIGITS, '0')}`)
}
