import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import { projectRoot } from '../../control/launch/paths.ts'

const ajv = new Ajv2020({ strict: false, allErrors: true })
for (const name of ['openResponses', 'completions', 'openai']) {
  const file = join(projectRoot, `test/support/schemas/${name}.json`)
  ajv.addSchema(JSON.parse(readFileSync(file, 'utf8')) as object, name)
}

/** Asserts that a value has the form that the public specification of its format demands. */
export function assertValid(schema: `${'openResponses' | 'completions' | 'openai'}/${string}`, value: unknown): void {
  const validate = ajv.getSchema(schema.replace('/', '#/$defs/')) as ValidateFunction
  assert.ok(validate(value), `${ajv.errorsText(validate.errors)}\n${JSON.stringify(value, null, 1)}`)
}
