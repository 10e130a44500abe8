import type { Behaviour } from './grammar.ts'
import type { MediaAnswer } from './mediaAnswers.ts'
import { reported } from './mediaAnswers.ts'

type Fields = Readonly<Record<string, unknown>>

const COUNT = 5

/** The upstream of a search tool: `q` and `num` in, a list of results and how many are billed out. */
export function searchAnswer(behaviour: Behaviour, fields: Fields): MediaAnswer {
  const count = behaviour.integers.results ?? Number(fields['num'] ?? COUNT)
  const results = Array.from({ length: count }, (_, index) => ({
    title: `Result ${index + 1} for ${String(fields['q'])}`,
    link: `https://mock.invalid/${index + 1}`,
    description: behaviour.echo ? JSON.stringify(fields) : (behaviour.text ?? `About ${String(fields['q'])}`),
    rank: index + 1,
  }))
  const billed = reported(behaviour, behaviour.integers.searches ?? count)
  const usage = billed === undefined ? {} : { usage: { results: billed } }
  const body = JSON.stringify({ query: fields['q'], web: { results }, ...usage })
  return { body, quantity: billed ?? count, usage: null }
}

/** The upstream of a scraping tool: `url` in, a page out. The behaviour's text is where the page was found in the end. */
export function scrapeAnswer(behaviour: Behaviour, fields: Fields): MediaAnswer {
  const url = behaviour.text ?? fields['url']
  const page = { url, title: 'A page', markdown: `# A page\n\nWhat ${String(fields['url'])} says.` }
  return { body: JSON.stringify({ data: page }), quantity: 1, usage: null }
}
