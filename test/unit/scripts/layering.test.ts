import assert from 'node:assert/strict'
import { join } from 'node:path'
import test from 'node:test'
import { pathToFileURL } from 'node:url'
import { projectRoot } from '../../../control/launch/paths.ts'

interface Layering {
  findFaults(files: Map<string, string>, scripts?: readonly string[]): string[]
}

const script = pathToFileURL(join(projectRoot, 'scripts/layering.mjs')).href
const { findFaults }: Layering = await import(script)

function faultsOf(files: Record<string, string>): string[] {
  return findFaults(new Map(Object.entries(files)))
}

const BAD: ReadonlyArray<readonly [path: string, text: string, fault: RegExp]> = [
  ['control/book/ledger/a.ts', "import { x } from '../../identity/keys/b.ts'\n", /only those below it/],
  ['control/runtime/db/a.ts', "import { x } from '../../new/b.ts'\n", /only those below it/],
  ['control/book/ledger/a.ts', "import type { Limits } from '../../limits.ts'\n", /take their own limits/],
  ['control/book/limits.ts', "import { x } from './ledger/a.ts'\n", /tables of limits alone/],
  ['proxy/sse/a.ts', "import type { Limits } from '../limits.ts'\n", /rooms of proxy take their own limits/],
  ['proxy/endpoints/chat/a.ts', "import { PROXY_LIMITS } from '../../limits.ts'\n", /rooms of proxy take their own/],
  [
    'proxy/endpoints/a.ts',
    "import {\n  a,\n  b,\n} from '../server/server.ts'\n",
    /through exchange\.ts and its limits/,
  ],
  ['proxy/sse/a.ts', "export * from '../endpoints/chat.ts'\n", /nothing below imports proxy\/endpoints/],
  ['proxy/sse/a.ts', "import '../main.ts'\n", /programs are started, not imported/],
  ['proxy/endpoints/a.ts', "import { x } from '../../console/format/money.ts'\n", /only tests import it/],
  ['test/unit/proxy/sse/gone.test.ts', 'x()\n', /neither a source file nor a folder/],
  ['test/unit/gone.test.ts', 'x()\n', /neither a source file nor a folder/],
]

const GOOD: ReadonlyArray<readonly [path: string, text: string]> = [
  ['control/book/limits.ts', "import type { RuntimeLimits } from '../runtime/limits.ts'\n"],
  ['control/book/ledger/a.ts', "import type { BookLimits } from '../limits.ts'\n"],
  ['control/service/a.ts', "import type { Limits } from '../limits.ts'\n"],
  ['proxy/routes.ts', "import type { Limits } from './limits.ts'\n"],
  ['proxy/sse/limits.ts', "import type { JsonLimits } from '../json/limits.ts'\n"],
  ['proxy/endpoints/run/services.ts', "import type { Limits } from '../../limits.ts'\n"],
  ['proxy/endpoints/a.ts', "import type { Exchange } from '../server/exchange.ts'\n"],
  ['proxy/worker.ts', "import { chat } from './endpoints/chat.ts'\nimport { serve } from './server/server.ts'\n"],
  ['test/unit/b.ts', "import { x } from '../../console/format/money.ts'\n"],
  ['console/parts/a.tsx', "import { verify } from '../../verifier/verify.ts'\n"],
  ['control/cli/a.ts', "import { x } from '../service/b.ts'\n"],
]

for (const [path, text, fault] of BAD) {
  test(`rejected: ${path}: ${text.split('\n', 1)[0]}`, () => {
    const faults = faultsOf({ [path]: text })
    assert.equal(faults.length, 1, faults.join('\n'))
    assert.match(faults[0] ?? '', fault)
  })
}

for (const [path, text] of GOOD) {
  test(`allowed: ${path}: ${text.split('\n', 1)[0]}`, () => assert.deepEqual(faultsOf({ [path]: text }), []))
}

test('folders that import each other are rejected', () => {
  const faults = faultsOf({
    'proxy/sse/a.ts': "import { b } from '../upstream/b.ts'\n",
    'proxy/upstream/b.ts': "import { c } from '../catalog/c.ts'\n",
    'proxy/catalog/c.ts': "import { d } from '../sse/d.ts'\n",
  })
  assert.deepEqual(faults, [
    'folders import each other in a circle: proxy/sse -> proxy/upstream -> proxy/catalog -> proxy/sse',
  ])
})

test('tables of limits that import each other are rejected', () => {
  const faults = faultsOf({
    'proxy/sse/limits.ts': "import type { JsonLimits } from '../json/limits.ts'\n",
    'proxy/json/limits.ts': "import type { SseLimits } from '../sse/limits.ts'\n",
  })
  assert.deepEqual(faults, ['tables of limits import each other in a circle: proxy/sse -> proxy/json -> proxy/sse'])
})

test('a unit test is named for a source file, a folder of them or a script', () => {
  const sources = { 'proxy/sse/a.ts': '', 'proxy/routes.ts': '' }
  for (const name of ['proxy/sse/a', 'proxy/sse/a.limits', 'proxy/routes.fuzz', 'proxy/sse', 'scripts/check']) {
    const files = new Map(Object.entries({ ...sources, [`test/unit/${name}.test.ts`]: '' }))
    assert.deepEqual(findFaults(files, ['scripts/check.mjs']), [], name)
  }
})
