// argv → `serve`, and no other command: what the single executable loads for the one that runs for years, so that
// the others take no memory beside it. Everything else goes by main.ts.

import { runProgram } from './cli/program.ts';
import { serveCommand } from './cli/serve-command.ts';

void runProgram([serveCommand()]);
