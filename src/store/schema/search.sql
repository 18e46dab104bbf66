--> statement-breakpoint
CREATE INDEX `addresses_end` ON `addresses` (substr(`address`, -4));
--> statement-breakpoint
CREATE VIEW `searched_orders` AS SELECT `id`, concat_ws(char(10), `reference`, `description`, `customer_email`,
  (SELECT group_concat(`value`, char(10)) FROM json_each(`metadata`)),
  `invoice_metadata` ->> '$.buyerEmail', `invoice_metadata` ->> '$.buyerName') AS `text` FROM `orders`;
--> statement-breakpoint
CREATE VIRTUAL TABLE `order_texts` USING fts5(`text`, content='', columnsize=0, detail=none,
  tokenize='trigram remove_diacritics 1');
--> statement-breakpoint
INSERT INTO `order_texts` (`order_texts`, rank) VALUES ('secure-delete', 1);
--> statement-breakpoint
CREATE TRIGGER `orders_made` AFTER INSERT ON `orders` BEGIN
  INSERT INTO `order_texts` (rowid, `text`) SELECT `id`, `text` FROM `searched_orders` WHERE `id` = new.`id`;
END;
--> statement-breakpoint
CREATE TRIGGER `orders_text_old` BEFORE UPDATE OF `reference`, `description`, `customer_email`, `metadata`,
  `invoice_metadata` ON `orders` BEGIN
  INSERT INTO `order_texts` (`order_texts`, rowid, `text`)
    SELECT 'delete', `id`, `text` FROM `searched_orders` WHERE `id` = old.`id`;
END;
--> statement-breakpoint
CREATE TRIGGER `orders_text_new` AFTER UPDATE OF `reference`, `description`, `customer_email`, `metadata`,
  `invoice_metadata` ON `orders` BEGIN
  INSERT INTO `order_texts` (rowid, `text`) SELECT `id`, `text` FROM `searched_orders` WHERE `id` = new.`id`;
END;
