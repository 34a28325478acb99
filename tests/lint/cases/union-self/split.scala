object Split extends App {
  def read(topic: String): DataFrame = spark.readStream.format("kafka").option("subscribe", topic).load().select("value")
  val base = read("events")
  val trigger = if (args.length > 0) Trigger.RealTime("5 minutes") else Trigger.AvailableNow()
  val merged = base.filter("value IS NULL").union(base.filter("value IS NOT NULL")) // expect: union-self
  merged.writeStream.format("console").outputMode("update").trigger(trigger).start()
  read("a").union(read("b")).writeStream.format("console").outputMode("update").trigger(trigger).start()
}
