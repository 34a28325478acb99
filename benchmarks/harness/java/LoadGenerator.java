import java.io.BufferedOutputStream;
import java.io.DataOutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Sends records in an open loop, and stores when each record was due, sent and appended, and when its output arrived.
 *
 * Arguments: bootstrap servers, source, target and reject topic, partitions, workload, records, records per second,
 * number of first records with another rate, their rate, seconds to wait for the last output, output file; and for the
 * workload "counts" the number of keys, the distance of two keys and the size of a record in bytes.
 *
 * The file contains five big-endian longs per record: due and sent (wall clock, microseconds), append of the input and
 * append of the first output (broker time, milliseconds), receipt of the first output (microseconds). 0 means that the
 * event has not happened.
 */
public final class LoadGenerator {
    private static final String[] KINDS = {"request", "impression", "click", "complete"};
    private static final int OPEN_TRANSACTIONS = 1_000;
    private static final int BLOCK = OPEN_TRANSACTIONS * KINDS.length;
    private static final int INVALID_EVERY = 101;
    private static final long FIRST_TS = 1_700_000_000_000L;
    private static final byte[] LIST = "seqs\"".getBytes(StandardCharsets.US_ASCII);
    private static final byte[] NUMBER = "seq".getBytes(StandardCharsets.US_ASCII);

    private final long nanoZero = System.nanoTime();
    private final long wallZero = micros(Instant.now());
    private final String bootstrap;
    private final String source;
    private final List<TopicPartition> answers;
    private final boolean stateful;
    private final boolean counts;
    private final long keys;
    private final long stride;
    private final int recordBytes;
    private final int records;
    private final double rate;
    private final int firstRecords;
    private final double firstRate;
    private final long drainNanos;
    private final long[] due;
    private final long[] sent;
    private final long[] appended;
    private final long[] answerAppended;
    private final long[] answerReceived;
    private int answered;
    private volatile boolean finished;
    private volatile Exception failure;

    private LoadGenerator(String[] arguments) {
        bootstrap = arguments[0];
        source = arguments[1];
        int partitions = Integer.parseInt(arguments[4]);
        answers = Stream.of(arguments[2], arguments[3])
            .flatMap(topic -> IntStream.range(0, partitions).mapToObj(number -> new TopicPartition(topic, number)))
            .toList();
        stateful = arguments[5].equals("stateful");
        counts = arguments[5].equals("counts");
        keys = Long.parseLong(arguments[12]);
        stride = Long.parseLong(arguments[13]);
        recordBytes = Integer.parseInt(arguments[14]);
        records = Integer.parseInt(arguments[6]);
        rate = Double.parseDouble(arguments[7]);
        firstRecords = Integer.parseInt(arguments[8]);
        firstRate = Double.parseDouble(arguments[9]);
        due = schedule();
        drainNanos = (long) (Double.parseDouble(arguments[10]) * 1e9);
        sent = new long[records];
        appended = new long[records];
        answerAppended = new long[records];
        answerReceived = new long[records];
    }

    public static void main(String[] arguments) throws Exception {
        LoadGenerator generator = new LoadGenerator(arguments);
        Thread receiver = new Thread(generator::receive, "receiver");
        receiver.start();
        generator.send();
        receiver.join();
        if (generator.failure != null) {
            throw generator.failure;
        }
        generator.write(Path.of(arguments[11]));
    }

    /** Returns the due time of each record in nanoseconds after the start. The times are the same in every run. */
    private long[] schedule() {
        long[] times = new long[records];
        double at = 0;
        for (int seq = 0; seq < records; seq++) {
            times[seq] = (long) at;
            at += 1e9 / (seq < firstRecords ? firstRate : rate);
        }
        return times;
    }

    private void send() {
        Map<String, Object> settings = Map.of("bootstrap.servers", bootstrap, "acks", "all", "linger.ms", 0,
            "key.serializer", ByteArraySerializer.class, "value.serializer", ByteArraySerializer.class);
        try (KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(settings)) {
            producer.partitionsFor(source);
            long start = System.nanoTime() - nanoZero;
            for (int seq = 0; seq < records && failure == null; seq++) {
                due[seq] += start;
                for (long wait; (wait = due[seq] - elapsed()) > 0;) {
                    LockSupport.parkNanos(wait);
                }
                sent[seq] = elapsed();
                int number = seq;
                producer.send(counts ? countedRecord(seq) : record(seq), (where, problem) -> {
                    if (problem == null) {
                        appended[number] = where.timestamp();
                    } else {
                        failure = problem;
                    }
                });
            }
        } finally {
            finished = true;
        }
    }

    private ProducerRecord<byte[], byte[]> record(int seq) {
        String id = "t" + (seq / BLOCK * OPEN_TRANSACTIONS + seq % OPEN_TRANSACTIONS);
        boolean valid = isValid(seq);
        boolean hasId = valid || seq / INVALID_EVERY % 2 == 1;
        String kind = valid || !hasId ? KINDS[seq % BLOCK / OPEN_TRANSACTIONS] : "unknown";
        String value = (hasId ? "{\"id\":\"" + id + "\",\"seq\":" : "{\"seq\":") + seq + ",\"kind\":\"" + kind
            + "\",\"ts\":" + (FIRST_TS + seq) + ",\"amount\":" + seq % 100 + "}";
        return new ProducerRecord<>(source, id.getBytes(StandardCharsets.US_ASCII),
            value.getBytes(StandardCharsets.US_ASCII));
    }

    private ProducerRecord<byte[], byte[]> countedRecord(int seq) {
        String id = "k" + seq % keys * stride;
        byte[] start = ("{\"id\":\"" + id + "\",\"seq\":" + seq + ",\"pad\":\"").getBytes(StandardCharsets.US_ASCII);
        byte[] value = Arrays.copyOf(start, recordBytes);
        Arrays.fill(value, start.length, recordBytes - 2, (byte) 'x');
        value[recordBytes - 2] = '"';
        value[recordBytes - 1] = '}';
        return new ProducerRecord<>(source, id.getBytes(StandardCharsets.US_ASCII), value);
    }

    private static boolean isValid(int seq) {
        return seq % INVALID_EVERY != INVALID_EVERY - 1;
    }

    private void receive() {
        Map<String, Object> settings = Map.of("bootstrap.servers", bootstrap, "fetch.min.bytes", 1,
            "key.deserializer", ByteArrayDeserializer.class, "value.deserializer", ByteArrayDeserializer.class);
        long expected = IntStream.range(0, records).filter(seq -> !stateful || isValid(seq)).count();
        try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(settings)) {
            consumer.assign(answers);
            consumer.seekToBeginning(answers);
            long deadline = Long.MAX_VALUE;
            while (answered < expected && elapsed() < deadline && failure == null) {
                for (ConsumerRecord<byte[], byte[]> answer : consumer.poll(Duration.ofMillis(100))) {
                    recordAnswer(answer, elapsed());
                }
                if (finished && deadline == Long.MAX_VALUE) {
                    deadline = elapsed() + drainNanos;
                }
            }
        } catch (RuntimeException problem) {
            failure = problem;
        }
    }

    /** Stores the first output for each record. The list "seqs" names several records; the field "seq" names one. */
    private void recordAnswer(ConsumerRecord<byte[], byte[]> answer, long at) {
        byte[] value = answer.value();
        int list = after(value, LIST);
        int position = list < 0 ? after(value, NUMBER) : list;
        // An output without a number is ignored here. The comparison with the expected outputs counts it as wrong.
        for (; position >= 0 && position < value.length && value[position] != ']'; position++) {
            if (value[position] < '0' || value[position] > '9') {
                continue;
            }
            int seq = 0;
            for (; position < value.length && value[position] >= '0' && value[position] <= '9'; position++) {
                seq = 10 * seq + value[position] - '0';
            }
            if (seq < records && answerReceived[seq] == 0) {
                answerAppended[seq] = answer.timestamp();
                answerReceived[seq] = at;
                answered++;
            }
            if (list < 0 || value[position] == ']') {
                return;
            }
        }
    }

    private static int after(byte[] value, byte[] pattern) {
        for (int start = 0; start + pattern.length <= value.length; start++) {
            if (Arrays.equals(value, start, start + pattern.length, pattern, 0, pattern.length)) {
                return start + pattern.length;
            }
        }
        return -1;
    }

    private void write(Path file) throws Exception {
        try (DataOutputStream rows = new DataOutputStream(new BufferedOutputStream(Files.newOutputStream(file)))) {
            for (int seq = 0; seq < records; seq++) {
                rows.writeLong(wallZero + due[seq] / 1_000);
                rows.writeLong(wallZero + sent[seq] / 1_000);
                rows.writeLong(appended[seq]);
                rows.writeLong(answerAppended[seq]);
                rows.writeLong(answerReceived[seq] == 0 ? 0 : wallZero + answerReceived[seq] / 1_000);
            }
        }
    }

    private long elapsed() {
        return System.nanoTime() - nanoZero;
    }

    private static long micros(Instant now) {
        return now.getEpochSecond() * 1_000_000 + now.getNano() / 1_000;
    }
}
