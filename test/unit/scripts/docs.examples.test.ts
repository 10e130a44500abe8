// Goal: JSON and YAML in the documentation is well-formed, and examples are in languages that are run.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parse } from 'yaml'
import { markdownPages } from '../../support/markdownPages.ts'

const PARSERS: Readonly<Record<string, (text: string) => unknown>> = { json: JSON.parse, yaml: (text) => parse(text) }
const RUN = new Set(['sh', 'js', 'python'])

for (const { path, blocks } of markdownPages()) {
  test(path, () => {
    for (const { place, language, runs, text } of blocks) {
      if (runs) assert.ok(RUN.has(language), `${place}: "${language}" is not run`)
      try {
        PARSERS[language]?.(text)
      } catch (error) {
        assert.fail(`${place}: ${(error as Error).message}`)
      }
    }
  })
}

test('most pages of the guides have an example that is executed', () => {
  const guides = markdownPages().filter(({ path }) => path.startsWith('docs/guides/'))
  const tested = guides.filter(({ blocks }) => blocks.some(({ runs }) => runs))
  assert.ok(tested.length * 2 > guides.length, `${tested.length} of ${guides.length}`)
})
