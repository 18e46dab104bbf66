import { defineConfig } from 'drizzle-kit';

export default defineConfig({
  dialect: 'sqlite',
  schema: ['schema', 'admin-schema', 'order-schema', 'delivery-schema', 'notification-schema'].map(
    (name) => `./src/store/schema/${name}.ts`,
  ),
  out: './drizzle',
});
