/**
 * The prompts that registered providers are compared by. They are the gateway's own and public, so that no customer data is
 * sent. Models of the same kind give much the same answer to each.
 */
export const PROBE_PROMPTS: readonly string[] = [
  'Write the numbers from one to twenty as words, separated by commas, and nothing else.',
  'List the days of the week in order, separated by commas, and nothing else.',
  'Write the English alphabet in lower case, with a space between letters, and nothing else.',
  'Name the months of the year in order, separated by commas, and nothing else.',
  'Give the first fifteen prime numbers, separated by commas, and nothing else.',
  'Name the eight planets of the solar system, from the one nearest to the Sun, separated by commas, and nothing else.',
  'Translate into French, with nothing else: The house is near the river and the garden is behind it.',
  'Write the powers of two from 1 to 4096, separated by commas, and nothing else.',
  'Spell the word "encyclopedia" letter by letter, separated by hyphens, and nothing else.',
  'Repeat this text exactly, with nothing else: The quick brown fox jumps over the lazy dog near the old stone bridge.',
  'Name the colours of the rainbow in order, separated by commas, and nothing else.',
  'Write the multiplication table of seven up to seven times ten, one line each, and nothing else.',
]
