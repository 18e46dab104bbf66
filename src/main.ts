#!/usr/bin/env node
// Runs the command of the command line.

import { commands } from './cli/commands.ts';
import { launch } from './cli/launcher.ts';

void launch(commands);
