// The same tests with the newest major version of the client.
import { testWithNewest } from '../support/clients/newest.ts'

await testWithNewest('ai-reasoning')
