import { ADJECTIVES, CITIES, COUNTRIES, LANGUAGES, NAMES, NOUNS, VERBS } from './probeWords.ts'

/** A whole number from 0 up to but without `below`. */
export type Draw = (below: number) => number

/** A prompt of a comparison, and the number of its task. */
export interface ProbePrompt {
  readonly task: number
  readonly system: string | undefined
  readonly text: string
}

const OPENERS = [
  '',
  '',
  '',
  'Please ',
  'Can you ',
  'Could you ',
  'I need you to ',
  'Hi, ',
  'Hello! ',
  'Quick one: ',
  'Help me: ',
]
const CLOSERS = [
  '',
  '',
  '',
  '',
  '',
  '',
  ' Just the result.',
  ' No explanation needed.',
  ' Only give me the answer.',
  ' Thanks!',
  '\nReply with the result only.',
  '\n\nKeep it short.',
  ' Do not add anything else.',
  ' I will paste it into a document, so no comments please.',
]
const SYSTEMS = [
  'You are a helpful assistant.',
  'You are a concise assistant.',
  'You are an assistant of a small company. Answer briefly.',
  'You answer exactly what is asked, without introductions.',
  'You help with writing and spreadsheets.',
  'Answer in English unless asked otherwise.',
]

/** Tasks with one right answer, to which models of the same kind answer much the same. Each begins with a lower-case verb. */
const TASKS: readonly ((draw: Draw) => string)[] = [
  (draw) => `sort these alphabetically, separated by commas: ${list(draw, NOUNS, 5, 14)}.`,
  (draw) => `put these names in alphabetical order, one per line:\n${list(draw, NAMES, 4, 12, '\n')}`,
  (draw) => `reverse the order of this list: ${list(draw, NOUNS, 4, 12)}.`,
  (draw) => `translate into ${one(draw, LANGUAGES)}: ${sentences(draw, 1, 3)}`,
  (draw) => `rewrite this in the past tense: ${sentences(draw, 2, 5)}`,
  (draw) => `make this text upper case: ${sentences(draw, 1, 4)}`,
  (draw) => `list all names that are in this text, in their order.\n\n${passage(draw)}`,
  (draw) => `list all numbers that are in this text, in their order.\n\n${passage(draw)}`,
  (draw) => `list the cities in this text, separated by commas.\n\n${passage(draw)}`,
  (draw) => `turn this into a JSON array of strings: ${list(draw, NOUNS, 4, 12)}`,
  (draw) => `turn this into a Markdown table with the columns name, city and amount.\n${rows(draw, 3, 7)}`,
  (draw) => `turn these lines into a JSON array of objects with name, city and amount.\n${rows(draw, 2, 5)}`,
  (draw) =>
    `write the numbers from ${10 + draw(60)} in steps of ${2 + draw(12)}, ${8 + draw(10)} of them, separated by commas.`,
  (draw) => `add up these amounts: ${numbers(draw).join(' + ')}.`,
  (draw) => `write these numbers as words, separated by commas: ${numbers(draw).join(', ')}.`,
  (draw) => `name the capitals of these countries, in this order: ${list(draw, COUNTRIES, 3, 9)}.`,
  (draw) => `spell these words letter by letter with hyphens, one word a line: ${list(draw, NOUNS, 2, 5)}.`,
  (draw) => `give the plural of each of these: ${list(draw, NOUNS, 5, 12)}.`,
  (draw) => `remove every word that is a colour from this list: ${list(draw, [...NOUNS, ...ADJECTIVES], 8, 16)}.`,
  (draw) => `fix the spaces and keep the words as they are: ${sentences(draw, 1, 4).replaceAll(' ', '  ')}`,
]

/**
 * A prompt that never was before: a task of some twenty over words that are drawn, in one of many wordings. They are the
 * gateway's own, so that no customer data is sent, and cannot be distinguished from customers' by a list of them.
 * @param draw from a source that nobody can predict
 */
export function newPrompt(draw: Draw): ProbePrompt {
  const task = draw(TASKS.length)
  const opener = one(draw, OPENERS)
  const said = `${opener}${TASKS[task]?.(draw) ?? ''}${one(draw, CLOSERS)}`
  const text = opener === '' && draw(4) > 0 ? `${said.slice(0, 1).toUpperCase()}${said.slice(1)}` : said
  return { task, system: draw(5) < 2 ? one(draw, SYSTEMS) : undefined, text }
}

function one(draw: Draw, from: readonly string[]): string {
  return from[draw(from.length)] ?? ''
}

function times<T>(draw: Draw, least: number, most: number, make: () => T): T[] {
  return Array.from({ length: least + draw(most - least + 1) }, make)
}

function list(draw: Draw, from: readonly string[], least: number, most: number, separator = ', '): string {
  return [...new Set(times(draw, least, most, () => one(draw, from)))].join(separator)
}

function numbers(draw: Draw): number[] {
  return times(draw, 3, 7, () => 1 + draw(10 ** (1 + draw(3))))
}

function sentence(draw: Draw): string {
  const thing = () => `the ${one(draw, ADJECTIVES)} ${one(draw, NOUNS)}`
  const forms = [
    () => `${one(draw, NAMES)} wants to ${one(draw, VERBS)} ${thing()} near ${thing()}.`,
    () => `We ${one(draw, VERBS)} ${thing()} before ${one(draw, NAMES)} comes.`,
    () => `There is a ${one(draw, NOUNS)} behind ${thing()}, and it is ${one(draw, ADJECTIVES)}.`,
    () => `They ${one(draw, VERBS)} ${2 + draw(90)} of them in ${one(draw, CITIES)}.`,
    () => `${one(draw, NAMES)} lives in ${one(draw, CITIES)} and likes ${thing()}.`,
  ]
  return forms[draw(forms.length)]?.() ?? ''
}

function sentences(draw: Draw, least: number, most: number): string {
  return times(draw, least, most, () => sentence(draw)).join(' ')
}

/** Sentences among which each thing that is asked for occurs. */
function passage(draw: Draw): string {
  const known = `${one(draw, NAMES)} ordered ${2 + draw(500)} from ${one(draw, CITIES)}.`
  return `${sentences(draw, 4, 14)} ${known}`
}

function rows(draw: Draw, least: number, most: number): string {
  return times(draw, least, most, () => `${one(draw, NAMES)}, ${one(draw, CITIES)}, ${10 + draw(990)}`).join('\n')
}
