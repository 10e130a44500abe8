import { invalidRequest } from '../../contract/errors/errors.ts'
import { tooDeep } from '../../contract/std/jsonBody.ts'
import { excessOf, type JsonBounds } from '../../contract/std/jsonExcess.ts'

/**
 * Rejects a request's JSON that exceeds the bounds, before any of it becomes an object. Invalid JSON is left to the parser.
 * @param bytes UTF-8
 * @throws GatewayError 400
 */
export function checkBounds(bytes: Buffer, bounds: JsonBounds): void {
  switch (excessOf(bytes, bounds)) {
    case 'depth':
      throw tooDeep(bounds.depthMax)
    case 'members':
      throw tooMany(`${bounds.membersMax} members of objects`)
    case 'elements':
      throw tooMany(`${bounds.elementsMax} elements of arrays`)
  }
}

const tooMany = (what: string): Error => invalidRequest(`The body has more than ${what}; send fewer.`)
