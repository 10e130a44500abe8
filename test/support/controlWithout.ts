// Control without one product: node dist/test/support/controlWithout.js NAME
import { PRODUCTS } from '../../control/service/products.ts'
import { runControl } from '../../control/service/program.ts'

await runControl(PRODUCTS.filter(({ name }) => name !== process.argv[2]))
