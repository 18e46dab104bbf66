import { VersionGraph } from '@start9labs/start-sdk';
import { current } from './current';

export const versions = VersionGraph.of({ current, other: [] });
