import assert from 'node:assert/strict'
import test from 'node:test'
import { flag, pageLimit, text } from '../../../../contract/api/fields.ts'
import { members } from '../../../../contract/api/route.ts'
import { GatewayError } from '../../../../contract/errors/errors.ts'
import { checkQuery } from '../../../../control/api/validate.ts'

const SCHEMA = members({
  limit: pageLimit(100),
  cosigned: flag('whether it is cosigned'),
  model: text('a model id', 256),
})

const read = (query: string) => ({ ...checkQuery(SCHEMA, query) })

test('whole decimal numbers, true and false are read from the text of a query', () => {
  assert.deepEqual(read('limit=1&cosigned=true&model=5'), { limit: 1, cosigned: true, model: '5' })
  assert.deepEqual(read('limit=100&cosigned=false&model=true'), { limit: 100, cosigned: false, model: 'true' })
  assert.deepEqual(read(''), {})
})

test('other spellings of numbers and of truth are refused', () => {
  const numbers = [
    '5.0',
    '0x5',
    '0b1',
    '1e2',
    '1E1',
    '+5',
    ' 5',
    '5 ',
    '05',
    '-0',
    '٥',
    '1_0',
    'null',
    '0',
    '101',
    '1'.repeat(400),
  ]
  for (const said of numbers) refuses(`limit=${encodeURIComponent(said)}`, 'limit')
  for (const said of ['1', '0', 'TRUE', 'yes', 'null']) refuses(`cosigned=${said}`, 'cosigned')
})

test('an empty parameter is refused, for it would ask for everything', () => {
  for (const name of ['limit', 'cosigned', 'model']) {
    refuses(`${name}=`, name)
    refuses(name, name)
  }
})

function refuses(query: string, param: string): void {
  assert.throws(
    () => read(query),
    (error) => error instanceof GatewayError && error.status === 400 && error.param === param,
    query,
  )
}
