import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Copies records from one topic to another. This program is the baseline to which all engines are compared.
 *
 * Arguments: bootstrap servers, source, target, partitions. Prints "ready" after its first fetch.
 */
public final class Echo {
    private Echo() {
    }

    public static void main(String[] arguments) {
        Map<String, Object> reading = Map.of("bootstrap.servers", arguments[0], "fetch.min.bytes", 1,
            "key.deserializer", ByteArrayDeserializer.class, "value.deserializer", ByteArrayDeserializer.class);
        Map<String, Object> writing = Map.of("bootstrap.servers", arguments[0], "acks", "all", "linger.ms", 0,
            "key.serializer", ByteArraySerializer.class, "value.serializer", ByteArraySerializer.class);
        List<TopicPartition> partitions = IntStream.range(0, Integer.parseInt(arguments[3]))
            .mapToObj(number -> new TopicPartition(arguments[1], number)).toList();
        try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(reading);
             KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(writing)) {
            producer.partitionsFor(arguments[2]);
            consumer.assign(partitions);
            consumer.seekToBeginning(partitions);
            consumer.poll(Duration.ZERO);
            System.out.println("ready");
            while (true) {
                for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofSeconds(1))) {
                    producer.send(new ProducerRecord<>(arguments[2], record.key(), record.value()));
                }
            }
        }
    }
}
