// Imported first by every program and by the tasks of threads.
import { mendJsonNames } from './jsonNames.ts'

mendJsonNames()
