import { defineConfig } from 'drizzle-kit';

export default defineConfig({
  dialect: 'sqlite',
  schema: ['./src/store/db/schema.ts', './src/store/db/order-schema.ts'],
  out: './drizzle',
});
